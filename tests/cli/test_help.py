"""The help is printed from a table, and a command loads its own module: what the table says is what the code does."""

import os
import subprocess
import sys
from typing import Any

import pytest

from ledger import __version__
from ledger.cli import command_table
from ledger.cli.command_table import COMMANDS, help_text, modules
from tests.cli.conftest import COMMAND, WHOLE

#: What a program that only looks at a session has no use for.
SERVICE = (
    "fastapi",
    "uvicorn",
    "prometheus_client",
    "ledger.server",
    "ledger.worker",
    "ledger.replay.backtest",
    "alembic",
)


def registered() -> dict[str, tuple[str, str]]:
    """Return module and first line of the docstring of every command that Typer has."""
    found = {}
    for name, command in WHOLE.commands.items():
        for full, each in [(f"{name} {sub}", below) for sub, below in getattr(command, "commands", {}).items()] or [
            (name, command)
        ]:
            found[full] = (each.callback.__module__.rpartition(".")[2], each.callback.__doc__.splitlines()[0])
    return found


def in_table() -> dict[str, tuple[str, str]]:
    return {name: row for section in COMMANDS.values() for name, row in section.items()}


def test_the_table_is_what_typer_has() -> None:
    assert in_table() == registered()
    assert len(in_table()) > 30


@pytest.mark.parametrize("row", [("show_commands", "Another line."), ("add", "Print what the model is shown.")])
def test_a_row_that_is_wrong_is_noticed(row: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setitem(COMMANDS["Read"], "context", row)
    assert in_table() != registered()


def test_every_command_of_a_module_that_loads_is_in_the_table() -> None:
    from ledger.cli import app  # noqa: PLC0415 - its registry is read once all is loaded

    assert registered()
    top = {info.name for info in app.app.registered_commands}
    below = {f"{name} {info.name}" for name, group in app._groups.items() for info in group.registered_commands}
    assert top | below == modules().keys()


def test_the_options_of_the_help_are_those_of_every_command() -> None:
    options = {
        name.split()[-1] if name.startswith("-h") else name.split()[0]
        for name in command_table.OPTIONS | command_table.ALONE
    }
    declared = {param.opts[0] for param in WHOLE.params} | {"--help"}
    assert options == declared


@pytest.mark.processes
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_names_every_command_and_fits_a_terminal(flag: str) -> None:
    done = subprocess.run([COMMAND, flag], capture_output=True, text=True, check=True)
    assert done.stdout == help_text()
    for name, (_, summary) in in_table().items():
        assert f"  {name} " in done.stdout
        assert summary in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) < 90


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize(
    ("typed", "offered"),
    [("s", {"sessions", "show", "stats", "search", "seen", "serve"}), ("entry re", {"remove", "restore"}),
     ("sessions --l", {"--limit"}), ("--name", {"--namespace"})],
)  # fmt: skip
def test_a_shell_completes_commands_and_options(typed: str, offered: set[str]) -> None:
    asked = {"COMP_WORDS": f"memory-ledger {typed}", "COMP_CWORD": str(len(typed.split()))}
    environment = {**os.environ, **asked, "_MEMORY_LEDGER_COMPLETE": "complete_bash"}
    done = subprocess.run([COMMAND], capture_output=True, text=True, check=True, env=environment)
    assert set(done.stdout.split()) == offered


@pytest.mark.processes
def test_options_before_the_help_change_nothing() -> None:
    done = subprocess.run([COMMAND, "--json", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip() == help_text().rstrip()


@pytest.mark.processes
def test_without_a_command_the_help_is_printed_and_the_call_refused() -> None:
    done = subprocess.run([COMMAND], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, help_text(), "")


@pytest.mark.processes
def test_the_quick_answers_are_those_of_the_slow_way() -> None:
    for arguments in (["--version"], ["--json", "--version"]):
        done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout == f"{__version__}\n"


@pytest.mark.processes
def test_a_reader_of_the_help_may_leave() -> None:
    with subprocess.Popen([COMMAND, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.processes
def test_a_misspelled_command_is_answered_with_the_right_one() -> None:
    done = subprocess.run([COMMAND, "shw", "s"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Did you mean 'show'?" in done.stderr


def loaded_for(*arguments: str) -> set[str]:
    """Return the modules that a command's help loads, which are those the command itself begins with."""
    program = """
import atexit, sys
atexit.register(lambda: print("loaded:", *sys.modules))
from ledger.cli import main
sys.argv = ["memory-ledger", *sys.argv[1:]]
main()
"""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


def within(packages: Any, modules: set[str]) -> set[str]:
    return {name for name in modules for package in packages if name == package or name.startswith(f"{package}.")}


@pytest.mark.processes
def test_a_command_loads_no_other_commands_code() -> None:
    loaded = loaded_for("show", "--help")
    assert "ledger.cli.show_commands" in loaded
    assert not within(SERVICE, loaded)
    assert not {f"ledger.cli.{name}" for name in ("serve", "worker_commands", "demo", "backtest")} & loaded


@pytest.mark.processes
def test_what_a_command_needs_is_noticed() -> None:
    """Negative control."""
    assert within(SERVICE, loaded_for("backtest", "--help"))
