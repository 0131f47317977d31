"""A follower by position misses nothing and sees commit order. Source: trust P-5, R-2."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.append_call import AppendConnection
from tests.support.databases import Server
from tests.support.follower import Follower
from tests.support.store_requests import a_request, a_write, an_event, append, ids_in, ids_of, some_events

pytestmark = pytest.mark.postgres


async def test_a_follower_sees_every_append_of_a_store(store: Store, namespace: str) -> None:
    streams = [Stream.of(namespace, f"session-{number}") for number in range(8)]
    follower = Follower(store, streams[0].namespace_id)
    await asyncio.gather(*(append(store, stream, *some_events(3)) for stream in streams for _ in range(20)))
    await follower.caught_up(480)
    await follower.finish()


@asynccontextmanager
async def connection(server: Server, database: str) -> AsyncIterator[AppendConnection]:
    """Yield a connection of its own that appends, as another process would have."""
    opened = await psycopg.AsyncConnection.connect(
        server.database(database), autocommit=True, options="-c role=ledger_app"
    )
    async with opened:
        yield AppendConnection(opened, role="ledger_app")


@pytest.mark.parametrize("ending", ["commit", "rollback"])
async def test_an_append_held_open_is_never_skipped(
    server: Server, shared_database: str, postgres_store: PostgresStore, stream: Stream, other: Stream, ending: str
) -> None:
    before, held, later = some_events(2), some_events(3), some_events(2)
    await append(postgres_store, other, *before)
    follower = Follower(postgres_store, stream.namespace_id)
    async with connection(server, shared_database) as appender:
        async with appender.connection.transaction(force_rollback=ending == "rollback"):
            (answer,) = await appender.append([a_request(a_write(stream, *held))])
            assert [receipt.position for receipt in answer.receipts] == [3, 4, 5]
            waiting = asyncio.create_task(append(postgres_store, other, *later))
            await asyncio.sleep(0.3)
            assert not waiting.done(), "the counter is locked until the first append has ended"
            assert [position for position, _ in follower.seen] == [1, 2], "nothing is seen before it is committed"
        receipts = (await waiting).receipts
    stored = held if ending == "commit" else ()
    assert receipts[-1].position == 4 + len(stored), "a rollback gives its numbers back"
    await follower.caught_up(receipts[-1].position)
    await follower.finish()
    assert [event_id for _, event_id in follower.seen] == ids_of((*before, *stored, *later))
    assert await ids_in(postgres_store, stream) == ids_of(stored)


async def write_at_random(appender: AppendConnection, streams: list[Stream], seed: str, *, appends: int) -> int:
    """Append in transactions that pause, and of which some are rolled back; return how many events stayed."""
    chance = random.Random(seed)
    stored = 0
    for _ in range(appends):
        count = chance.randint(1, 20)
        undone = chance.random() < 0.02
        async with appender.connection.transaction(force_rollback=undone):
            await appender.append([a_request(a_write(chance.choice(streams), *some_events(count)))])
            if chance.random() < 0.05:
                await asyncio.sleep(chance.random() / 100)
        stored += 0 if undone else count
    return stored


async def check_following(
    server: Server, database: str, store: PostgresStore, namespace: str, seed: int, *, writers: int, appends: int
) -> int:
    streams = [Stream.of(namespace, f"session-{number}") for number in range(10)]
    await append(store, streams[0], an_event())
    follower = Follower(store, streams[0].namespace_id)

    async def work(number: int) -> int:
        async with connection(server, database) as appender:
            return await write_at_random(appender, streams, f"{seed}-{number}", appends=appends)

    stored = sum(await asyncio.gather(*(work(number) for number in range(writers))))
    await follower.caught_up(stored + 1)
    await follower.finish()
    return stored


@pytest.mark.full
async def test_a_follower_of_twelve_writers_misses_nothing(
    server: Server, shared_database: str, postgres_store: PostgresStore, namespace: str, seed: int
) -> None:
    stored = await check_following(server, shared_database, postgres_store, namespace, seed, writers=12, appends=60)
    assert stored > 5_000


@pytest.mark.slow
async def test_a_follower_of_twelve_writers_misses_nothing_for_long(
    server: Server, shared_database: str, postgres_store: PostgresStore, namespace: str, seed: int
) -> None:
    stored = await check_following(server, shared_database, postgres_store, namespace, seed, writers=12, appends=600)
    assert stored > 15_000
