"""Ctrl-C, SIGTERM and closed pipes, in processes of their own. Source: trust I-62."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ledger.cli
from tests.cli.conftest import Cli
from tests.support.databases import Server

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def wait_until(holds: Callable[[], object]) -> None:
    for _ in range(1_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


def interrupted(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err.strip()


@pytest.fixture
def held(server: Server, shared_database: str) -> Iterator[Callable[[], bool]]:
    """Nobody can read or append events; tells whether somebody waits to."""
    with server.superuser(shared_database) as holding, server.superuser(shared_database) as looking:
        holding.execute("BEGIN")
        holding.execute("LOCK TABLE ledger.events IN ACCESS EXCLUSIVE MODE")

        def waits() -> bool:
            row = looking.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
            return row != (0,)

        yield waits
        holding.execute("ROLLBACK")


@pytest.mark.full
@pytest.mark.parametrize("number", [*CODES, signal.SIGKILL])
def test_an_interrupted_export_leaves_no_file_but_a_part(
    talked: Cli, held: Callable[[], bool], tmp_path: Path, number: signal.Signals
) -> None:
    with talked.process("export", "s", "-o", "export.jsonl") as process:
        wait_until(held)
        part = tmp_path / f"export.jsonl.{process.pid}.part"
        assert part.exists()
        code, out, err = interrupted(process, number)
    left = {path.name for path in tmp_path.iterdir()}
    assert (code, out, err) == (CODES.get(number, -number), "", "")
    assert left == ({part.name} if number == signal.SIGKILL else set())


def test_a_terminated_command_ends_with_its_code_and_no_traceback(talked: Cli) -> None:
    """Ctrl-C is tried where a timeline is followed."""
    with talked.process("timeline", "s", "--follow") as process:
        assert process.stdout is not None
        assert "session.opened" in process.stdout.readline()
        code, _, err = interrupted(process, signal.SIGTERM)
    assert (code, err) == (143, "")


@pytest.mark.parametrize("number", CODES)
def test_it_may_be_interrupted_while_it_is_still_being_loaded(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Loading(ModuleType):
        def __getattr__(self, name: str) -> object:
            signal.raise_signal(number)
            raise AssertionError("nobody was interrupted")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["memory-ledger", "sessions"])
    monkeypatch.setitem(sys.modules, "ledger.cli.app", Loading("loading"))
    try:
        with pytest.raises(SystemExit) as ended:
            ledger.cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == CODES[number]


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "number"),
    [(["import", "long.json"], signal.SIGINT), (["add", "s", "hello"], signal.SIGTERM)],
    ids=["import", "add"],
)
def test_what_is_interrupted_while_it_writes_writes_nothing(
    cli: Cli, held: Callable[[], bool], arguments: list[str], number: signal.Signals
) -> None:
    """trust P-12."""
    messages = [{"role": "user", "content": f"message {number}"} for number in range(1_200)]
    Path("long.json").write_text(json.dumps(messages))
    with cli.process(*arguments) as process:
        wait_until(held)
        code, out, err = interrupted(process, number)
    assert (code, out, err) == (CODES[number], "", "")
    wait_until(lambda: not held())
    assert cli.json("sessions") == {"sessions": [], "more": False}


@pytest.fixture
def long(cli: Cli) -> Cli:
    """A session whose text is longer than a pipe holds."""
    entries = [{"role": "user", "content": f"{number} " + "x" * 2_000, "tokens": 1} for number in range(200)]
    cli("add", "s", "--file", "-", input=json.dumps(entries))
    return cli


@pytest.mark.sample(2)
@pytest.mark.parametrize("arguments", [["export", "s"], ["show", "s", "--full"]])
def test_a_pipe_closed_by_its_reader_is_no_error(long: Cli, arguments: list[str]) -> None:
    """As in `memory-ledger export s | head -1`."""
    with long.process(*arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=30)
    assert (process.returncode, err) == (0, "")


def test_the_shell_gets_the_code_and_standard_error_the_words(cli: Cli) -> None:
    with cli.process("show", "nobody") as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    listing = "`memory-ledger sessions`, or list_sessions() of the library,"
    assert err == f"memory-ledger: session 'nobody' has no events; {listing} lists those that do\n"
