"""The ledger rides out a restart of its database, and connections that are cut. Source: trust P-13, F-4, F-5."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.connections import DriverConnections
from tests.support.clients_under_load import LONGEST_S, assert_nothing_lost, at_work, until_served
from tests.support.killable_server import KillableServer
from tests.support.store_requests import a_request, a_write, an_event
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

SERVES_WITHIN_S = 2.0


async def restarted_again_and_again(
    killable: KillableServer, target: Target, namespace: str, seed: int, *, times: int
) -> None:
    """Restart the server under load, as hard as PostgreSQL does it, and check what clients saw of it."""
    async with opened(target) as store:
        async with at_work(store, namespace, seed) as clients:
            for _ in range(times):
                await asyncio.sleep(0.5)
                await asyncio.to_thread(killable.restart, "immediate")
                await until_served(clients, within_s=SERVES_WITHIN_S)
        await assert_nothing_lost(store, namespace, clients)
    refused = sum(client.unavailable for client in clients)
    answers = sum(len(client.acknowledged) for client in clients)
    print(
        f"{answers} batches stored, {refused} calls not served, {max(each.longest_s for each in clients):.1f} s at most"
    )


async def test_clients_see_a_restart_as_a_delay(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    await restarted_again_and_again(killable, killable.target(database), namespace, seed, times=2)


@pytest.mark.slow
async def test_clients_see_twenty_restarts_as_delays(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    await restarted_again_and_again(killable, killable.target(database), namespace, seed, times=20)


@pytest.mark.parametrize("mode", ["immediate", "fast"])
async def test_the_first_calls_after_a_restart_are_served(
    killable: KillableServer, database: str, namespace: str, mode: str
) -> None:
    """Every connection of the pool is dead then, and nobody has to find that out by a refusal."""
    stream = Stream.of(namespace, "s")
    async with opened(killable.target(database)) as store:
        await store.events.append(a_request(a_write(stream, an_event()), key="first"))
        for number in range(2):
            await asyncio.gather(*(store.events.head(stream) for _ in range(8)))
            await asyncio.gather(*(store.session_index.page(stream.namespace_id, 1) for _ in range(8)))
            await asyncio.to_thread(killable.restart, mode)
            assert (await store.events.head(stream))[0] == number + 1
            assert await store.session_index.page(stream.namespace_id, 1) == []
            await asyncio.gather(*(store.events.head(stream) for _ in range(8)))
            await store.events.append(a_request(a_write(stream, an_event()), key=f"after {number}"))


async def away_under_load(
    killable: KillableServer, store: PostgresStore, namespace: str, seed: int, *, seconds: float, longest_s: float
) -> None:
    """Leave the server dead for a while; clients wait for each other, be it in one session or for one commit."""
    async with at_work(store, namespace, seed, number=16, longest_s=longest_s) as clients:
        await until_served(clients, within_s=5)
        killable.kill()
        await asyncio.sleep(seconds)
        assert all(client.unavailable for client in clients)
        await asyncio.to_thread(killable.start)
        await until_served(clients, within_s=SERVES_WITHIN_S)
    await assert_nothing_lost(store, namespace, clients)


async def test_nobody_waits_long_for_a_database_that_stays_away(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    async with opened(killable.target(database), patience_s=1) as store:
        await away_under_load(killable, store, namespace, seed, seconds=3.5, longest_s=2.5)


@pytest.mark.slow
async def test_nobody_waits_ten_seconds_for_a_database_that_stays_away(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    store = await PostgresStore.open(killable.target(database))
    await away_under_load(killable, store, namespace, seed, seconds=20, longest_s=LONGEST_S)
    await store.close()


@asynccontextmanager
async def use_and_keep(self: DriverConnections) -> AsyncIterator[object]:
    """Yield a connection, and put it back into the pool even if it is broken."""
    async with self._free:
        pooled, driver, wrapped = self._idle.pop() if self._idle else await self._checkout()
        try:
            yield wrapped
        finally:
            self._idle.append((pooled, driver, wrapped))


async def test_a_pool_that_keeps_dead_connections_is_caught(
    killable: KillableServer, database: str, namespace: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DriverConnections, "use", use_and_keep)
    # more patience on a busy machine would change nothing
    monkeypatch.setattr("tests.support.patience.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    with pytest.raises(AssertionError, match="somebody is not served"):
        await restarted_again_and_again(killable, killable.target(database), namespace, seed, times=1)


async def cut_off(url: str, database: str, seconds: float) -> int:
    """End every connection of the application ten times a second; return how many that were."""
    cut = 0
    deadline = time.monotonic() + seconds
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        while time.monotonic() < deadline:
            ended = await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND application_name = 'memory-ledger'",
                (database,),
            )
            cut += ended.rowcount
            await asyncio.sleep(0.1)
    return cut


async def cut_off_under_load(
    killable: KillableServer, database: str, namespace: str, seed: int, *, seconds: float
) -> None:
    """Cut clients off for a while, and check what they saw of it."""
    async with opened(killable.target(database)) as store:
        async with at_work(store, namespace, seed) as clients:
            await until_served(clients, within_s=5)
            assert await cut_off(killable.server.url, database, seconds) > seconds
            await until_served(clients, within_s=SERVES_WITHIN_S)
        await assert_nothing_lost(store, namespace, clients)


async def test_clients_see_connections_that_are_cut_as_delays(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    await cut_off_under_load(killable, database, namespace, seed, seconds=1.5)


@pytest.mark.slow
async def test_clients_see_connections_that_are_cut_for_half_a_minute_as_delays(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    await cut_off_under_load(killable, database, namespace, seed, seconds=30)
