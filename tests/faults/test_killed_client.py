"""An acknowledged append survives the death of the program that made it. Source: trust P-1, F-2."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ledger.ports import Receipt
from tests.support.databases import Server
from tests.support.writers_under_load import assert_stored, opened

pytestmark = [pytest.mark.full, pytest.mark.postgres]

ROOT = Path(__file__).parents[2]

_receipts = msgspec.json.Decoder(tuple[Receipt, ...])


def acknowledged_in(file: Path) -> list[Receipt]:
    """Return what the dead were told, as far as they could still write it down."""
    whole = [line for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return [receipt for line in whole for receipt in _receipts.decode(line)]


def killed_while_writing(url: str, namespace: str, name: str, file: Path, after_s: float, how: str) -> None:
    """Let a process append, and kill it *after_s* seconds after its first acknowledgement."""
    size = file.stat().st_size if file.exists() else 0
    arguments = ["-m", "tests.support.writing_process", url, namespace, name, str(file), how]
    with subprocess.Popen([sys.executable, *arguments], cwd=ROOT) as process:
        deadline = time.monotonic() + 30
        while not file.exists() or file.stat().st_size == size:
            assert process.poll() is None, "the process ended by itself"
            assert time.monotonic() < deadline, "the process acknowledges nothing"
            time.sleep(0.01)
        time.sleep(after_s)
        process.kill()
    assert process.returncode == -signal.SIGKILL


async def no_backend_left(server: Server, database: str) -> None:
    """Wait until the server has noticed that its clients are dead."""
    with server.superuser("postgres") as admin:
        for _ in range(1_000):
            found = admin.execute("SELECT FROM pg_stat_activity WHERE datname = %s", (database,)).fetchall()
            if not found:
                return
            await asyncio.sleep(0.01)
    raise AssertionError("backends outlive their clients")


async def killed_again_and_again(
    server: Server, database: str, namespace: str, file: Path, seed: int, *, cycles: int, how: str = "in time"
) -> None:
    """Kill a writing process *cycles* times, and check what is left."""
    chance = random.Random(seed)
    for cycle in range(cycles):
        name = f"{seed}-{cycle}"
        killed_while_writing(server.database(database), namespace, name, file, chance.uniform(0.1, 0.5), how)
    await no_backend_left(server, database)
    acknowledged = acknowledged_in(file)
    async with opened(server.target(database)) as store:
        batches = await assert_stored(store, namespace, acknowledged)
    print(f"{cycles} kills: {len(acknowledged)} events acknowledged, {batches} batches stored")


async def test_no_acknowledged_append_is_lost_by_killing_the_client(
    server: Server, fresh_database: str, namespace: str, tmp_path: Path, seed: int
) -> None:
    await killed_again_and_again(server, fresh_database, namespace, tmp_path / "acknowledged", seed, cycles=3)


@pytest.mark.slow
async def test_no_acknowledged_append_is_lost_by_killing_the_client_a_hundred_times(
    server: Server, fresh_database: str, namespace: str, tmp_path: Path, seed: int
) -> None:
    await killed_again_and_again(server, fresh_database, namespace, tmp_path / "acknowledged", seed, cycles=100)


async def test_a_client_that_acknowledges_too_early_is_caught(
    server: Server, fresh_database: str, namespace: str, tmp_path: Path, seed: int
) -> None:
    with pytest.raises(AssertionError, match=r"[1-9]\d* of \d+ acknowledged events are lost"):
        await killed_again_and_again(
            server, fresh_database, namespace, tmp_path / "acknowledged", seed, cycles=1, how="early"
        )
