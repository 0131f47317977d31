"""A write to several sessions is whole or absent after the death of the program that made it. Source: adapters LF-6."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.memory import MemoryLedger
from tests.support.databases import Server

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.processes]

ROOT = Path(__file__).parents[2]


def killed_after_some(url: str, namespace: str, how: str) -> set[str]:
    """Kill a process that writes; return the writes that it said are stored."""
    command = [sys.executable, "-m", "tests.support.joint_writing_process", url, namespace, how]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(21)]
        process.kill()
        said += [line for line in process.stdout if line.endswith("\n")]
    assert process.returncode == -signal.SIGKILL
    return {f"write {line.strip()}" for line in said}


async def killed(server: Server, database: str, namespace: str, how: str) -> tuple[list[set[str]], set[str]]:
    """Kill a process that writes; return what each of its sessions has, and what it said is stored."""
    with server.login("ledger_app") as login:
        url = server.url_of(login, database)
        told = killed_after_some(url, namespace, how)
        async with MemoryLedger.open(url, namespace, allow_unsafe=True) as ledger:
            assert (await ledger.verify()).ok
            return [{entry.content for entry in await ledger.get_active_entries(name)} for name in "ab"], told


async def test_a_write_to_two_sessions_is_in_both_or_in_none__LF_6(
    server: Server, shared_database: str, namespace: str
) -> None:
    (first, second), told = await killed(server, shared_database, namespace, "jointly")
    assert first == second
    assert told <= first


async def test_two_writes_leave_halves(server: Server, shared_database: str, namespace: str) -> None:
    """The control."""
    for number in range(10):
        (first, second), _ = await killed(server, shared_database, f"{namespace}-{number}", "one by one")
        if first != second:
            return
    raise AssertionError("ten kills, and no write was split")
