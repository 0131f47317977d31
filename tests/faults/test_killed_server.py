"""An acknowledged append survives the death of the database. Source: trust P-1, F-1."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import psycopg
import pytest

from ledger.ports import Receipt
from ledger.stores.embedded import server
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import Target
from tests.support.killable_server import KillableServer
from tests.support.patience import within
from tests.support.store_requests import an_event, append
from tests.support.writers_under_load import Writer, a_batch, assert_stored, opened, streams_of

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

ANSWERS_WITHIN_S = 5.0


@asynccontextmanager
async def at_work(
    target: Target, namespace: str, seed: int, acknowledged: list[Receipt], *, largest: int
) -> AsyncIterator[list[Writer]]:
    """Let four writers, of two stores, append until the context ends."""
    async with AsyncExitStack() as stack:
        writers = []
        for number in range(4):
            store = await stack.enter_async_context(opened(target, group_commit=number < 2, patience_s=0))
            writers.append(
                Writer(
                    store,
                    streams_of(namespace),
                    f"{seed}-{number}",
                    lambda answers: acknowledged.extend(answers.receipts),
                    largest=largest,
                )
            )
        tasks = [asyncio.create_task(writer.run()) for writer in writers]
        try:
            yield writers
        finally:
            for task in tasks:
                task.cancel()
            endings = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(ending, asyncio.CancelledError) for ending in endings), endings


async def killed_again_and_again(
    killable: KillableServer,
    target: Target,
    namespace: str,
    seed: int,
    *,
    cycles: int,
    at_least: int = 1,
    largest: int = 3,
) -> int:
    """Kill the server under load, *cycles* times and until *at_least* events were acknowledged; check what is left.

    Return how many appends ended without an answer.
    """
    chance = random.Random(seed)
    acknowledged: list[Receipt] = []
    async with at_work(target, namespace, seed, acknowledged, largest=largest) as writers:
        done = 0
        while done < cycles or len(acknowledged) < at_least:
            await asyncio.sleep(chance.uniform(0.3, 1.2))
            await asyncio.to_thread(killable.kill)
            started = time.monotonic()
            await asyncio.to_thread(killable.start)
            answers = len(acknowledged)
            while len(acknowledged) == answers:
                assert time.monotonic() < started + within(ANSWERS_WITHIN_S), "it does not answer yet"
                await asyncio.sleep(0.01)
            done += 1
    async with opened(target) as store:
        batches = await assert_stored(store, namespace, acknowledged)
    unknown = sum(writer.unknown for writer in writers)
    print(f"{done} kills: {len(acknowledged)} events acknowledged, {batches} batches stored, {unknown} unknown")
    return unknown


async def test_no_acknowledged_append_is_lost_by_killing_the_server(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    assert await killed_again_and_again(killable, killable.target(database), namespace, seed, cycles=5) > 0


@pytest.mark.slow
async def test_no_acknowledged_append_is_lost_by_killing_the_server_a_hundred_times(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    target = killable.target(database)
    assert await killed_again_and_again(killable, target, namespace, seed, cycles=100, at_least=200_000, largest=30) > 0


@pytest.mark.full
async def test_a_server_that_does_not_wait_for_its_disk_is_caught(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    """The control: without synchronous_commit the same check finds acknowledged appends that are gone."""
    with killable.settings(synchronous_commit="off", wal_writer_delay="10s", wal_writer_flush_after="1GB"):
        target = killable.target(database, allow_unsafe=True)
        with pytest.raises(AssertionError, match=r"[1-9]\d* of \d+ acknowledged events are lost"):
            await killed_again_and_again(killable, target, namespace, seed, cycles=1)


async def test_half_a_batch_is_caught(namespace: str, seed: int) -> None:
    store, streams, chance = InMemoryStore(), streams_of(namespace), random.Random(seed)
    for number in range(10):
        await store.events.append(a_batch(streams, f"batch-{number}", chance, 3))
    assert await assert_stored(store, namespace, []) == 10
    await append(store, streams[0], an_event("batch-10 1/2"))
    with pytest.raises(AssertionError, match="half-written"):
        await assert_stored(store, namespace, [])


BUSY = "DO $$ BEGIN WHILE clock_timestamp() < statement_timestamp() + interval '1.5 s' LOOP END LOOP; END $$"


def be_busy(url: str) -> float:
    """Keep a backend from noticing for a while that its postmaster is dead; return when it did."""
    with suppress(psycopg.OperationalError), psycopg.connect(url, autocommit=True) as connection:
        connection.execute(BUSY)
    return time.monotonic()


async def test_a_server_starts_once_the_last_process_of_the_killed_server_ends(
    killable: KillableServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_GRACE_S", 30.0)
    orphan = asyncio.create_task(asyncio.to_thread(be_busy, killable.server.database(database)))
    await asyncio.sleep(0.3)
    killable.kill_postmaster()
    await asyncio.to_thread(killable.start)
    assert 0 < time.monotonic() - await orphan < within(10)


def test_a_server_starts_while_the_killed_postmaster_is_a_zombie(killable: KillableServer) -> None:
    """As in a container whose first process does not wait for orphans."""
    killable.kill()
    zombie = killable.zombie_postmaster()
    started = time.monotonic()
    killable.start()
    assert time.monotonic() - started < within(10)
    assert zombie.wait() == 0
