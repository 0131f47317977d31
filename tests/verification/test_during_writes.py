"""`verify` with caches raises no alarm while everything is written and built again. Source: trust P-7, K-4."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from ledger.errors import Conflict, NotFound
from ledger.history.state_loading import States
from ledger.indexes.jobs import WorkPlan
from ledger.indexes.jobs.job_index import BACKLOGS
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.postgres import PostgresStore
from ledger.verification import verify_namespace
from ledger.worker.namespace_jobs import WorkedNamespace
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.vandal import without_schema

pytestmark = pytest.mark.postgres

CONFIG = {"profile": "working_memory"}
SESSIONS = 6


@pytest.fixture
async def stores(server: Server, fresh_database: str) -> AsyncIterator[list[Store]]:
    """Those of two processes with one key, on a database of their own."""
    opened = [await PostgresStore.open(server.target(fresh_database), key=b"k" * 32) for _ in range(2)]
    for store in opened:
        without_schema(store)
    yield list(opened)
    for store in opened:
        await store.close()


async def write(ledger: MemoryLedger, dice: random.Random) -> None:
    """Do one thing that changes the log."""
    session = f"s{dice.randrange(SESSIONS)}"
    match dice.randrange(9):
        case 0:
            await ledger.add_entries(session, [{"role": "user", "content": f"word{n} again"} for n in range(70)])
            if dice.random() < 0.7:
                await ledger.clear_session(session)
        case 1:
            await ledger.fork(session, f"fork {dice.randrange(9)}")
        case 2:
            await ledger.clear_session(session, end=dice.random() < 0.5)
        case 3:
            await ledger.compress(session)
        case 4:
            await ledger.patch_data(session, {"key": dice.random()})
        case 5:
            entries = await ledger.get_active_entries(session)
            await ledger.edit_entry(session, entries[-1].entry_id, "edited") if entries else None
        case 6:
            name = f"r{dice.randrange(20)}"
            await ledger.long_term.create([{"id": name, "text": f"Mia has {dice.randrange(9)} cats"}])
        case 7:
            await ledger.long_term.delete([f"r{dice.randrange(20)}"])
        case _:
            await ledger.add_user_message(session, f"a message of {dice.randrange(50)}")


async def build(ledger: MemoryLedger, dice: random.Random) -> None:
    """Bring everything that is stored beside the log up to date, or build it again."""
    worked = WorkedNamespace(ledger._handle, WorkPlan(), States(ledger._handle.services.store, BACKLOGS))
    await worked.catch_up()
    await ledger._handle.indexes.builds.catch_up(worked.jobs)
    if dice.random() < 0.1:
        await ledger.rebuild_projections()


async def check_verifies(stores: list[Store], namespace: str, seed: int, count: int) -> None:
    dice = random.Random(seed)
    ledgers = [ledger_over(store, namespace=namespace, config=CONFIG) for store in stores]
    stopped = asyncio.Event()

    async def again(work: str, ledger: MemoryLedger) -> None:
        while not stopped.is_set():
            with suppress(NotFound, Conflict):
                await (write if work == "write" else build)(ledger, dice)
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for work, ledger in (
            ("write", ledgers[0]),
            ("write", ledgers[1]),
            ("build", ledgers[0]),
            ("build", ledgers[1]),
        ):
            group.create_task(again(work, ledger))
        try:
            number = written = 0
            while number < count or written <= 10 * count:  # on a busy machine the writers need longer
                report = await verify_namespace(stores[number % 2], namespace, caches=True)
                assert report.ok, (seed, number, report)
                number, written = number + 1, report.checked
                await asyncio.sleep(0.05)
        finally:
            stopped.set()
    for ledger in ledgers:
        await ledger._handle.services.commands.settle()
    await build(ledgers[0], dice)
    report = await verify_namespace(stores[0], namespace, caches=True)
    assert report.ok, (seed, report)
    assert report.checked > 10 * count, "something was written"


@pytest.mark.full
async def test_verifies_during_writes_raise_no_alarm(stores: list[Store], namespace: str, seed: int) -> None:
    await check_verifies(stores, namespace, seed, 10)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
async def test_two_hundred_verifies_during_writes_raise_no_alarm(
    stores: list[Store], namespace: str, seed: int
) -> None:
    """Of ten logs, since each grows: the last verifies of one long log would take most of the time."""
    for log in range(10):
        await check_verifies(stores, f"{namespace}-{log}", seed + log, 20)
        print(f"{20 * (log + 1)} verifies")
