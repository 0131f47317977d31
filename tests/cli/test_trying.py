"""The commands what-if, diff, adopt and backtest, and what they refuse."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ledger.cli import backtest
from ledger.cli.app import app
from ledger.cli.output import Output
from tests.support.databases import Server
from tests.support.pages import ROOT

CONFIGS = ROOT / "examples" / "configs"
REFUSED = {
    "a method is called": (
        {"window": {"type": "max_tokens", "conditions": ["message.role.upper()"]}},
        "window.conditions",
    ),
    "a power": (
        {"compactions": [{"type": "neuralyzer", "interaction_conditions": ["9**9"]}]},
        "compactions[0].interaction_conditions",
    ),
    "more is kept than is waited for": (
        {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 5, "interaction_keep": 5}]},
        "compactions[0]",
    ),
    "no such strategy": ({"window": {"type": "oracle"}}, "window.type"),
    "no such compaction": ({"compactions": [{"type": "full"}]}, "compactions[0].type"),
    "no such field": ({"window": {"type": "recall", "budget": 5}}, "window.budget"),
    "not an object": (5, ""),
}


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def cli(server: Server, shared_database: str, namespace: str) -> Iterator[Callable[..., Result]]:
    """Run a command on the test database, in a namespace of its own; it must end well."""
    with server.login("ledger_app") as login:
        url = server.url_of(login, shared_database)

        def run(*arguments: object) -> Result:
            done = call(*arguments, "--database-url", url, "--namespace", namespace)
            assert done.exit_code == 0, done.output + done.stderr
            return done

        yield run


def written(folder: Path, value: object, name: str = "config.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("command", [["what-if", "s"], ["diff", "s"], ["adopt", "s"], ["backtest"]], ids=lambda c: c[0])
@pytest.mark.parametrize(("raw", "field"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_config_is_refused_in_one_line_with_its_path(
    command: list[str], raw: object, field: str, tmp_path: Path
) -> None:
    """R-CFG-4, R-CFG-7, V-CND-15."""
    file = written(tmp_path, raw)
    done = call(*command, "--config", file)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.strip().count("\n") == 0
    assert str(file) in done.stderr
    assert field in done.stderr
    answers = json.loads(call("--json", *command, "--config", file).stderr)
    assert answers["error"]["code"]
    assert str(file) in answers["error"]["field"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["what-if", "s"],
        ["adopt", "s"],
        ["diff", "s"],
        ["diff", "s", "5"],
        ["diff", "s", "1", "2", "--config", CONFIGS / "full.json"],
        ["diff", "s", "yesterday", "2"],
        ["backtest"],
        ["what-if", "s", "--config", "no-such-file.json"],
        ["backtest", "--config", CONFIGS],
        ["backtest", "--config", CONFIGS / "full.json", "--explain", "x"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments))[:40],
)
def test_what_is_missing_or_too_much_is_refused(arguments: list[object]) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stderr.strip().count("\n") == 0


@pytest.mark.postgres
def test_a_config_is_tried_compared_and_adopted(cli: Callable[..., Result], tmp_path: Path) -> None:
    entries = [{"role": role, "content": f"{role} says {n} " * 20} for n in range(8) for role in ("user", "assistant")]
    added = json.loads(cli("add", "s", "--file", written(tmp_path, entries, "entries.json"), "--json").stdout)
    file = written(tmp_path, {"memory_strategy_id": "max_tokens", "memory_max_tokens": 200})
    tried = json.loads(cli("what-if", "s", "--config", file, "--json").stdout)
    difference = tried["difference"]
    assert (difference["before"]["what_if"], difference["after"]["what_if"]) == (False, True)
    assert tried["config"]["window"]["type"] == "max_tokens"
    assert difference["after"]["budget"]["tokens"] <= 200 < difference["before"]["budget"]["tokens"]
    assert difference["after"]["spent"]["model_calls"] == 0
    assert difference["before"]["only_entries"][0]["version"] == 2
    assert "--- version 17" in cli("what-if", "s", "--config", file).stdout
    same = json.loads(cli("diff", "s", "--config", file, "--json").stdout)
    assert same["after"]["only_entries"] == difference["after"]["only_entries"]
    assert json.loads(cli("diff", "s", "5", "9", "--json").stdout)["after"]["version"] == 9
    both = json.loads(cli("diff", "s", "--config", file, "--config", CONFIGS / "full.json", "--json").stdout)
    assert both["before"]["what_if"]
    assert both["after"]["what_if"]
    removed = added["entries"][0]["entry_id"]
    without = json.loads(cli("what-if", "s", "--without", removed, "--json").stdout)
    assert [entry["entry_id"] for entry in without["difference"]["before"]["only_entries"]] == [removed]
    assert json.loads(cli("stats", "s", "--json").stdout)["version"] == 17, "nothing was written"
    cli("adopt", "s", "--config", file)
    assert json.loads(cli("config", "s", "--json").stdout)["window"]["memory_max_tokens"] == 200
    assert json.loads(cli("stats", "s", "--json").stdout)["version"] == 18


@pytest.mark.postgres
def test_no_number_is_cut_however_narrow_the_screen(
    cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is too wide goes on in the next; a long name is folded."""
    cli("import", ROOT / "examples" / "coding_agent.jsonl")
    long = tmp_path / f"{'long_' * 12}.json"
    long.write_text((CONFIGS / "summarizer.json").read_text())
    configs = ("--config", CONFIGS / "progressive.json", "--config", long)
    base = ("backtest", *configs, "--summaries", "estimate", "--jobs", 1)
    monkeypatch.setenv("COLUMNS", "60")
    shown = cli(*base).stdout
    (first, second) = json.loads(cli(*base, "--json").stdout)["configs"]
    for row in (first, second):
        for name in ("median_shown", "p95_shown", "total_shown", "summary_tokens"):
            assert f"{row[name]:,}" in shown, name


def test_configs_are_tried_on_sessions_with_questions(cli: Callable[..., Result], tmp_path: Path) -> None:
    cli("import", ROOT / "tests" / "importers" / "samples" / "bfcl_memory.jsonl")
    asked = [
        {"session": "garden", "question": "Who lent me a hoe?", "evidence": ["My neighbour Ada lent me a hoe"]},
        {"session": "cellar", "question": "?", "evidence": ["?"]},
    ]
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(measure) + "\n" for measure in asked))
    names = ("full", "recall", "max_tokens")
    configs = [argument for name in names for argument in ("--config", CONFIGS / f"{name}.json")]
    base = ("backtest", *configs, "--questions", questions, "--jobs", 1, "--json")
    answers = json.loads(cli(*base, "--out", tmp_path / "out").stdout)
    assert [row["config"] for row in answers["configs"]] == list(names)
    assert {row["split_pairs"] for row in answers["configs"]} == {0}
    assert answers["configs"][0]["in_window"] == answers["configs"][0]["search_at_5"] == 1.0
    assert answers["files"][:4] == ["report.json", "report.html", "evidence.png", "tokens.png"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*answers["files"], "measured.jsonl"}
    again = json.loads(cli(*base).stdout)
    assert again["configs"] == answers["configs"]
    assert "evidence" in cli("backtest", *configs, "--questions", questions, "--sessions", "gard*", "--jobs", 1).stdout


@pytest.mark.postgres
def test_a_backtest_explains_what_outranked_the_evidence_in_80_columns(
    cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sample = ROOT / "tests" / "importers" / "samples" / "dated_sessions.jsonl"
    cli("import", sample)
    configs = [argument for name in ("full", "recall") for argument in ("--config", CONFIGS / f"{name}.json")]
    base = ("backtest", *configs, "--questions", sample, "--questions", ROOT / "examples" / "questions.jsonl")
    shown = cli(*base, "--explain", "PARCEL", "--jobs", 1).stdout
    assert "single-hop" in shown
    assert "adversarial" in shown
    assert "Which parcel is hers? (garden, single-hop)" in shown
    assert "[evidence] Number 47." in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    (explained,) = json.loads(cli(*base, "--explain", "parcel", "--jobs", 1, "--json").stdout)["explained"]
    assert explained["pieces"][0]["places"] == {"full": "window", "recall": "window"}


def test_without_matplotlib_a_backtest_says_so_first_and_shows_its_table(
    cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("import", ROOT / "tests" / "importers" / "samples" / "bfcl_memory.jsonl")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("ledger.replay.backtest.plots.find_spec", lambda name: None)
    measured: list[str] = []
    run = backtest.run_all
    monkeypatch.setattr(
        "ledger.cli.backtest.run_all", lambda *given, **kw: (measured.append("began"), run(*given, **kw))[1]
    )
    monkeypatch.setattr(Output, "note", lambda output, text: measured.append(text))
    shown = cli("backtest", "--config", CONFIGS / "full.json", "--jobs", 1, "--out", tmp_path / "out").stdout
    assert measured == ["without matplotlib the report has no plots; pip install 'memory-ledger[reports]'", "began"]
    assert "full" in shown
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.json", "report.html", "measured.jsonl"}


def test_adopt_with_rebuild_shows_the_history_under_the_config(cli: Callable[..., Result], tmp_path: Path) -> None:
    """R-RBD-3: the command waits, and says how many summaries were written."""
    file = written(tmp_path, {"profile": "rolling", "size": 2, "max_summaries": 2})
    for number in range(7):
        cli("add", "s", f"message {number}")
    adopted = cli("adopt", "s", "--config", file, "--rebuild")
    assert json.loads(adopted.stdout)["profile"] == "rolling"
    assert "rebuilt" in adopted.stderr
    stats = json.loads(cli("stats", "s", "--json").stdout)
    assert (stats["summaries"], stats["active_entries"]) == (2, 7)
    changed = cli("config", "s", "--set", "max_summaries=1", "--rebuild")
    assert json.loads(changed.stdout)["compactions"][0]["max_summaries"] == 1
    assert json.loads(cli("stats", "s", "--json").stdout)["summaries"] == 1


def test_a_rebuild_without_a_change_is_refused(cli: Callable[..., Result]) -> None:
    refused = call("config", "s", "--rebuild")
    assert refused.exit_code == 2
    assert "--rebuild" in refused.stderr
