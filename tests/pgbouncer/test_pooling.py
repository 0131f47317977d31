"""The ledger behind PgBouncer in transaction mode, whose clients share server connections. Source: trust D-8, S-8."""

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from ledger.errors import LedgerError
from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.connector import Connector, Driver
from tests.server.conftest import running
from tests.support.databases import Server
from tests.support.pooler import follows_no_statements, pooled, server_connections
from tests.support.store_requests import an_event, append

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("pgbouncer")]

CLIENTS, ROUNDS = 6, 12


@pytest.fixture(scope="module")
def behind(server: Server) -> Iterator[Server]:
    """The test server behind a PgBouncer that has two connections."""
    with pooled(replace(server, pooler=None), default_pool_size="2") as item:
        yield item


async def use(server: Server, database: str, namespace: str) -> list[int]:
    """Have several clients append and read at once, each its own session; return the final versions."""

    async def work(number: int) -> int:
        store = await PostgresStore.open(server.target(database))
        try:
            stream = Stream.of(namespace, f"session-{number}")
            for _ in range(ROUNDS):
                await append(store, stream, an_event(item_id=secrets.token_hex(4)))
                await store.events.read_stream(stream)
                await store.events.overview(stream.namespace_id)
                await store.snapshots.load(stream, "session", 1)
            return len(await store.events.read_stream(stream))
        finally:
            await store.close()

    found = await asyncio.gather(*(work(number) for number in range(CLIENTS)), return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return [each for each in found if isinstance(each, int)]


async def test_clients_that_share_connections_read_and_append(
    behind: Server, shared_database: str, namespace: str
) -> None:
    before = server_connections(behind, shared_database)  # of other tests, whose ends may come later
    assert await use(behind, shared_database, namespace) == [ROUNDS] * CLIENTS
    assert len(server_connections(behind, shared_database, but=before)) < CLIENTS


async def test_connections_prepare_statements_only_where_they_stay_with_one_backend(
    behind: Server, shared_database: str
) -> None:
    direct = Target(replace(behind, pooler=None).database(shared_database), embedded=True)
    for target, prepares in ((direct, True), (behind.target(shared_database), False)):
        connection = await Connector(target).connect()
        for _ in range(8):
            await connection.execute("SELECT 1", prepare=True)
        cursor = await connection.execute("SELECT count(*) > 0 FROM pg_prepared_statements")
        assert await cursor.fetchone() == (prepares,)
        await connection.close()


@pytest.mark.parametrize("pooled", [False, True])
async def test_readers_plan_once_only_where_connections_stay_with_one_backend(
    behind: Server, shared_database: str, pooled: bool
) -> None:
    target = behind if pooled else replace(behind, pooler=None)
    store = await PostgresStore.open(target.target(shared_database))
    try:
        async with store._pool.readers.use() as driver:
            cursor = await driver.execute("SHOW plan_cache_mode")
            assert await cursor.fetchone() == ("auto" if pooled else "force_generic_plan",)
    finally:
        await store.close()


async def test_without_the_check_for_a_pooler_statements_get_mixed_up(
    server: Server, shared_database: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: statements are prepared as on a direct connection."""
    connect = Connector.connect

    async def trusting(self: Connector) -> Driver:
        driver = await connect(self)
        driver.prepare_threshold = 5
        return driver

    monkeypatch.setattr(Connector, "connect", trusting)
    with (
        pooled(replace(server, pooler=None), default_pool_size="2", **follows_no_statements()) as behind,
        pytest.raises((LedgerError, AssertionError)),
    ):
        assert await use(behind, shared_database, namespace) == [ROUNDS] * CLIENTS


def test_a_service_behind_a_pooler_keeps_and_finds_a_session(
    behind: Server, shared_database: str, namespace: str
) -> None:
    body = {"namespace": namespace, "messages": [{"role": "user", "content": "hello"}], "memories": []}
    with (
        running(behind.target(shared_database)) as in_flight,
        httpx.Client(base_url=in_flight.url, timeout=30) as client,
    ):
        assert client.put("/v1/working-memory/trip", json=body).status_code == 200
        stored = client.get("/v1/working-memory/trip", params={"namespace": namespace})
        assert [message["content"] for message in stored.json()["messages"]] == ["hello"]
        assert client.get("/readyz").status_code == 200
