"""A backtest has the same result on any number of processes, continues where it stopped, and writes a report."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import msgspec
import psutil
import pytest

from ledger.llm.prices import load_prices
from ledger.replay.backtest import backtest_run
from ledger.replay.backtest.backtest_run import BacktestSession, Plan, run
from ledger.replay.backtest.columns import cells, columns
from ledger.replay.backtest.plots import plots
from ledger.replay.backtest.questions import Question
from ledger.replay.backtest.report import report_of, report_value, write
from ledger.replay.backtest.report_page import page
from ledger.replay.backtest.totals import findings
from projections.memory_config import config
from tests.support.driver import Driven

RAW = {
    "full": {"profile": "none"},
    "small": {"profile": "memory_manager", "max_entries": 4, "recent_window": 2, "min_entries_to_compress": 2},
    "recall": {"window": {"type": "recall", "max_tokens": 40}},
}
PLAN = Plan(
    configs=tuple((name, config.load(raw)) for name, raw in RAW.items()),
    questions=(
        Question(session="s1", question="What did user 5 say?", evidence=("u 5",)),
        Question(session="gone", question="?", evidence=("u",)),
    ),
    prices=load_prices(),
)
ROOT = Path(__file__).parents[2]
_IN_ANOTHER = """
import sys
from hashlib import sha256
import msgspec
from tests.backtest.test_running import PLAN, some_sessions
from ledger.replay.backtest.backtest_run import run
print(sha256(msgspec.json.encode(run(some_sessions(), PLAN))).hexdigest())
"""


def some_sessions() -> list[BacktestSession]:
    return [
        BacktestSession(f"s{number}", tuple(Driven({"profile": "none"}).append("u c1 r1 a " * (number + 2)).events))
        for number in range(4)
    ]


@pytest.mark.full
@pytest.mark.processes
def test_several_processes_give_what_one_gives() -> None:
    assert run(some_sessions(), PLAN, jobs=2) == run(some_sessions(), PLAN)


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_another_process_gives_the_same_to_the_byte(hash_seed: str) -> None:
    """R-WIF-6: nothing hangs on the order of sets."""
    done = subprocess.run(
        [sys.executable, "-c", _IN_ANOTHER],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == sha256(msgspec.json.encode(run(some_sessions(), PLAN))).hexdigest(), done.stderr


@pytest.mark.full
@pytest.mark.processes
def test_workers_end_with_the_process_that_started_them() -> None:
    """Killed, it could not tell them to."""
    slow = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from ledger.replay.backtest.backtest_run import _end_with_parent
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_end_with_parent)
    pool.submit(time.sleep, 0).result()
    pool.submit(time.sleep, 600)
    print(next(iter(pool._processes)), flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", slow], stdout=subprocess.PIPE, cwd=ROOT, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        worker.wait(timeout=20)


def test_a_run_continues_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, whole = tmp_path / "kept.jsonl", run(some_sessions(), PLAN)
    run(some_sessions()[:2], PLAN, measured_file=stored)
    with stored.open("ab") as file:
        file.write(b'{"key": "torn')
    measured: list[str] = []
    original = backtest_run.measure_session

    def counted(session: BacktestSession, plan: Plan, names: list[str]):
        measured.append(session.name)
        return original(session, plan, names)

    monkeypatch.setattr(backtest_run, "measure_session", counted)
    answers: list[tuple[int, int]] = []
    assert run(some_sessions(), PLAN, measured_file=stored, progress=lambda *done: answers.append(done)) == whole
    assert measured == ["s2", "s3"]
    assert (answers[0], answers[-1]) == ((6, 12), (12, 12))
    measured.clear()
    assert run(some_sessions(), PLAN, measured_file=stored) == whole
    assert measured in ([], ["s2"]), "the line after the torn one was lost with it, and is measured again"
    other = msgspec.structs.replace(PLAN, summaries="estimate")
    measured.clear()
    run(some_sessions(), other, measured_file=stored)
    assert measured == ["s0", "s1", "s2", "s3"], "what was measured otherwise does not count"


def test_the_report_is_one_page_with_its_pictures(tmp_path: Path) -> None:
    sessions = some_sessions()
    report = report_of(run(sessions, PLAN), PLAN, sessions)
    assert any("1 questions are about sessions" in note for note in report.notes)
    files = write(report, PLAN, tmp_path)
    panels = [f"tokens-{number}.png" for number in (1, 2, 3)]
    assert files == ["report.json", "report.html", "evidence.png", "tokens.png", *panels]
    html = (tmp_path / "report.html").read_text()
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")
    assert html.count("data:image/png;base64,") == 5
    for name in RAW:
        assert f'<th scope="row">{name}</th>' in html
    assert (tmp_path / "tokens.png").read_bytes().startswith(b"\x89PNG")
    again = tmp_path / "again"
    again.mkdir()
    write(report, PLAN, again)
    for name in files:
        assert (again / name).read_bytes() == (tmp_path / name).read_bytes(), f"{name} is not the same twice"


def test_the_findings_name_the_configs_that_show_least_keep_most_and_never_compact() -> None:
    """With a row that shows half and one that never compacts, each sentence has its config."""
    sessions = some_sessions()
    lazy = config.load({"profile": "memory_manager", "max_entries": 1_000})
    named = msgspec.structs.replace(PLAN, configs=(*PLAN.configs, ("lazy", lazy)))
    report = report_of(run(sessions, named), named, sessions)
    assert "lazy" in next(line for line in report.findings if line.startswith("Never compacted"))
    assert "small" not in next(line for line in report.findings if line.startswith("Never compacted"))
    full, recall = report.rows[0], msgspec.structs.replace(report.rows[2], total_shown=1)
    first, best, *_ = findings((full, recall), dict(named.configs))
    assert first.startswith("recall shows the fewest tokens")
    assert best.endswith(f"recall keeps the most evidence in the window: {recall.in_window:.1%}.")
    assert findings((full,), dict(named.configs)) == ()


def test_names_are_drawn_as_they_are() -> None:
    """A config's name is a file's name: neither formula nor hidden."""
    sessions = some_sessions()
    names = ("_a", "$b^", "c" * 60)
    named = msgspec.structs.replace(PLAN, configs=tuple((name, PLAN.configs[0][1]) for name in names))
    measured = run(sessions, named)
    pictures = plots(report_of(measured, named, sessions).rows, measured)
    assert all(data.startswith(b"\x89PNG") for data in pictures.values())


def test_every_column_has_a_cell_and_words_are_escaped() -> None:
    sessions = some_sessions()
    named = msgspec.structs.replace(PLAN, configs=(("<b>x</b>", PLAN.configs[0][1]),))
    report = report_of(run(sessions, named), named, sessions)
    assert all(name in cells(report.rows[0]) for name, _ in columns(report.rows))
    html = page(report.rows, {"<b>x</b>": {"note": "<i>"}}, {}, ["<u>"])
    assert not {"<b>x", "<i>", "<u>"} & set(html.split())
    assert "<b>x</b>" not in html
    assert report_value(report)["configs"][0]["in_window"] == 1.0
