"""A process works with the connections that it gets, more slowly. Source: trust P-19."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from ledger import MemoryLedger
from ledger.errors import DatabaseUnavailable
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.unused_connections import UnusedConnections
from tests.support.databases import Server
from tests.support.patience import within

pytestmark = pytest.mark.postgres

CALLERS = 8


@asynccontextmanager
async def opened(target: Target, namespace: str) -> AsyncIterator[MemoryLedger]:
    """Yield a ledger on *target*."""
    store = await PostgresStore.open(target)
    try:
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            yield ledger
    finally:
        await store.close()


async def every_kind(ledger: MemoryLedger, session: str) -> None:
    """Write, read, list and search once."""
    await ledger.add_user_message(session, "the pump is red")
    assert (await ledger.get_context(session)).messages
    assert await ledger.get_transcript(session)
    assert await ledger.list_sessions()
    assert await ledger.search("pump", session_id=session)


@pytest.fixture(params=[1, 2, 3, 4, 6, 8])
def few(server: Server, shared_database: str, request: pytest.FixtureRequest) -> Iterator[Target]:
    """A login that may have that many connections, where eight are wanted."""
    with server.login("ledger_app", attributes=f"CONNECTION LIMIT {request.param}") as name:
        yield Target(server.url_of(name, shared_database))


@pytest.mark.full
async def test_many_callers_share_the_connections_that_there_are(few: Target, namespace: str) -> None:
    async with opened(few, namespace) as ledger:
        for _ in range(2):
            started = time.monotonic()
            await asyncio.gather(*(every_kind(ledger, f"s{number}") for number in range(CALLERS)))
            assert time.monotonic() - started < within(20)
            await every_kind(ledger, "alone")
        assert len(await ledger.list_sessions()) == CALLERS + 1
        for number in range(CALLERS):
            assert len(await ledger.get_transcript(f"s{number}")) == 2


@pytest.mark.full
@pytest.mark.parametrize("most", [4, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2, 3, 6, 8))])
async def test_a_process_leaves_what_it_does_not_use_to_others(
    server: Server, shared_database: str, namespace: str, most: int
) -> None:
    with server.login("ledger_app", attributes=f"CONNECTION LIMIT {most}") as name:
        await two_take_turns(Target(server.url_of(name, shared_database)), namespace)


async def two_take_turns(few: Target, namespace: str) -> None:
    """Let two stores, as those of two processes, be used one after the other and together, each by many callers."""
    async with opened(few, namespace) as first:
        await asyncio.gather(*(every_kind(first, f"s{number}") for number in range(CALLERS)))
        async with opened(few, namespace) as second:
            for ledger in (second, first, second):
                started = time.monotonic()
                await asyncio.gather(*(every_kind(ledger, f"s{number}") for number in range(CALLERS)))
                assert time.monotonic() - started < within(20)
            both = (every_kind(ledger, f"s{number}") for ledger in (first, second) for number in range(CALLERS))
            await asyncio.gather(*both)


@pytest.mark.full
async def test_idle_readers_that_keep_their_connections_are_caught(
    server: Server, shared_database: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: no writer gets a connection while readers hold all of them."""

    async def keeps(self: UnusedConnections, since: float = 0) -> bool:
        return False

    monkeypatch.setattr(UnusedConnections, "close_one", keeps)
    with server.login("ledger_app", attributes="CONNECTION LIMIT 3") as name:
        target = Target(server.url_of(name, shared_database), timeout_s=2)
        async with opened(target, namespace) as ledger:
            reads = (ledger.get_context(f"s{number}") for number in range(8))
            await asyncio.gather(*reads, return_exceptions=True)
            with pytest.raises(DatabaseUnavailable):
                await ledger.add_user_message("s", "hello")


async def test_a_server_without_any_connection_left_says_so(
    server: Server, shared_database: str, namespace: str
) -> None:
    with server.login("ledger_app", attributes="CONNECTION LIMIT 1") as name:
        url = server.url_of(name, shared_database)
        async with opened(Target(url), namespace) as ledger:
            await ledger.add_user_message("s", "hello")
            started = time.monotonic()
            with pytest.raises(DatabaseUnavailable, match="too many are open"):
                await PostgresStore.open(Target(url, timeout_s=2))
            assert time.monotonic() - started < within(2)


async def test_the_size_of_the_pool_is_a_setting(
    server: Server, shared_database: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_CONNECTIONS", "2")
    with server.login("ledger_app") as name:
        url = server.url_of(name, shared_database)
        async with MemoryLedger.open(url, namespace=namespace) as ledger:
            most = 0

            async def count() -> None:
                nonlocal most
                with psycopg.connect(server.database(shared_database), autocommit=True) as watching:
                    while True:
                        row: Any = watching.execute(
                            "SELECT count(*) FROM pg_stat_activity WHERE usename = %s", (name,)
                        ).fetchone()
                        most = max(most, row[0])
                        await asyncio.sleep(0.01)

            counting = asyncio.create_task(count())
            await asyncio.gather(*(every_kind(ledger, f"s{number}") for number in range(CALLERS)))
            counting.cancel()
            assert 1 <= most <= 3, "one that was closed may still be counted"
