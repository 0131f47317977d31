"""What is imported often is quick to import: the package, the facade, the command's help."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import ledger
from ledger import errors

pytestmark = pytest.mark.processes

COMMAND = Path(sys.executable).with_name("memory-ledger")
NOTHING = [sys.executable, "-c", "pass"]
HELP = [str(COMMAND), "--help"]
FACADE = [sys.executable, "-c", "from ledger import MemoryLedger"]

#: What takes longer to import than Python takes to start, or nearly.
HEAVY = {"psycopg", "sqlalchemy", "pydantic", "msgspec", "asyncio", "typer", "rich"}
RUNS = 15
ATTEMPTS = 4


def cpu_seconds(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(command: Sequence[str]) -> float:
    """Return how many times the CPU of ``python -c pass`` *command* takes, at the median of interleaved runs."""
    cpu_seconds(command)  # which compiles what is not compiled yet
    pairs = [(cpu_seconds(NOTHING), cpu_seconds(command)) for _ in range(RUNS)]
    nothing, whole = (statistics.median(times) for times in zip(*pairs, strict=True))
    return whole / nothing


def least_ratio(command: Sequence[str], *, most: float) -> float:
    """Return the first ratio up to *most*, or the least of several, as a busy machine spoils some; none doubles it."""
    found = [ratio(command)]
    while len(found) < ATTEMPTS and most < found[-1] < 2 * most:
        found.append(ratio(command))
    return min(found)


def loaded_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_help_costs_at_most_two_and_a_half_times_what_python_costs() -> None:
    assert least_ratio(HELP, most=2.5) <= 2.5


def test_the_facade_costs_at_most_four_times_what_python_costs() -> None:
    assert least_ratio(FACADE, most=4.0) <= 4.0


@pytest.mark.full
def test_a_slow_import_is_noticed() -> None:
    """Negative control."""
    assert ratio([sys.executable, "-c", "import asyncio"]) > 2.5


@pytest.mark.parametrize(
    "program",
    [
        "import ledger",
        "from ledger import SessionNotFound",
        "from ledger import MemoryLedger",
        "import ledger.application.facade.operations",
        "import ledger.cli",
        "import sys; sys.argv[1:] = ['--help']\nfrom ledger.cli import main\ntry: main()\nexcept SystemExit: print()",
    ],
)
def test_what_starts_quickly_loads_nothing_heavy(program: str) -> None:
    loaded = loaded_by(program)
    assert "ledger" in loaded
    assert not HEAVY & loaded


@pytest.mark.parametrize("name", ["MemoryConfig", "SyncMemoryLedger"])
def test_what_is_used_does_load(name: str) -> None:
    """Negative control."""
    assert HEAVY & loaded_by(f"from ledger import {name}")


def test_all_public_names_are_listed_before_they_are_loaded() -> None:
    program = "import ledger; print(sorted(set(ledger.__all__) - set(dir(ledger))))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_error_can_be_imported_from_the_package() -> None:
    defined = [found for found in vars(errors).values() if isinstance(found, type)]
    assert {error.__name__ for error in defined if issubclass(error, ledger.LedgerError)} <= set(ledger.__all__)


@pytest.mark.parametrize("name", ledger.__all__)
def test_a_public_name_is_what_its_module_calls_so(name: str) -> None:
    assert getattr(ledger, name).__name__ == name
