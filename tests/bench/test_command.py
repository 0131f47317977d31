"""`python -m bench`: a failed workload is shown, the others are measured, and the exit code is 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import page
from bench.rows import Figures
from bench.setting import Setting


class NoServer:
    """Databases that do not exist."""

    postgres_version = "18"

    @contextmanager
    def fresh(self, name: str) -> Iterator[tuple[str, str]]:
        yield "", ""

    @classmethod
    @contextmanager
    def temporary(cls) -> "Iterator[NoServer]":
        yield cls()


async def fails(setting: Setting) -> Figures:
    """Fail."""
    raise RuntimeError("no luck")


async def works(setting: Setting) -> Figures:
    """Measure something."""
    return {"bulk": {"store": 2.5, "library": 3.0}}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the page, which a run with two workloads writes."""
    copy = tmp_path / "benchmarks.md"
    copy.write_text(page.PAGE.read_text())
    monkeypatch.setattr(command, "Databases", NoServer)
    monkeypatch.setattr(command, "WORKLOADS", {"http": fails, "bulk": works})
    monkeypatch.setattr(page, "PAGE", copy)
    return copy


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return ended.value.code


def test_a_run_with_a_failed_workload_writes_its_error_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, written: Path
) -> None:
    assert run(monkeypatch) == 1
    assert "| error: RuntimeError: no luck |" in written.read_text()
    assert "| 2.50 / 3.00 | ≤ 3 / 4.5 | met |" in written.read_text()


def test_a_run_that_measures_everything_exits_with_0(monkeypatch: pytest.MonkeyPatch, written: Path) -> None:
    monkeypatch.setattr(command, "WORKLOADS", {"bulk": works})
    assert run(monkeypatch) == 0


@pytest.mark.parametrize("arguments", [["bulk"], ["--quick"], ["--quick", "bulk"]])
def test_single_workloads_and_quick_runs_do_not_write(
    monkeypatch: pytest.MonkeyPatch, written: Path, arguments: list[str]
) -> None:
    before = written.read_text()
    run(monkeypatch, *arguments)
    assert written.read_text() == before


def test_an_unknown_name_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "bluk") == 2
    assert "no workload bluk; there are append, growing" in capsys.readouterr().err
