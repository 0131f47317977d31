"""Nothing set on a connection outlives its transaction, so a transaction pooler may stand between.

Source: trust D-8, D-9, S-8.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import psycopg
import pytest
import sqlalchemy as sa

from ledger.errors import DatabaseUnavailable
from ledger.events.ids import Stream
from ledger.ports import AppendRequest
from ledger.ports.snapshot_store import Snapshot
from ledger.stores.postgres import PostgresStore, event_store
from ledger.stores.postgres.connections import LIMIT_IDLE
from ledger.stores.postgres.connector import Driver
from tests.postgres.conftest import opened
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, append, some_events

pytestmark = pytest.mark.postgres

#: What a connection keeps that a transaction pooler would hand to another client, or lose.
STATE_QUERIES = {
    # these two are for as long as a connection lasts: only where there is no pooler (tests/pgbouncer)
    "settings": """
        SELECT name FROM pg_settings
        WHERE source = 'session' AND name NOT IN ('plan_cache_mode', 'client_connection_check_interval')
    """,
    "namespace": "SELECT 1 WHERE current_setting('ledger.namespace', true) <> ''",
    "role": "SELECT current_user WHERE current_user <> 'ledger_app'",
    "locks": "SELECT classid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    "cursors": "SELECT name FROM pg_cursors WHERE is_holdable",
    "temporary tables": "SELECT relname FROM pg_class WHERE relpersistence = 't' AND pg_table_is_visible(oid)",
    "channels": "SELECT pg_listening_channels()",
    "statements prepared in SQL": "SELECT name FROM pg_prepared_statements WHERE from_sql",
}


async def drivers(store: PostgresStore) -> list[Driver]:
    """Return every connection of the store's pool."""
    async with store._pool.engine.connect() as pooled:
        idle = (await pooled.get_raw_connection()).driver_connection
    return [idle, *(driver for _, driver, *_ in (*store._pool.readers._idle, *store._events._appenders._idle))]


async def connection_state(store: PostgresStore) -> dict[str, list[Any]]:
    """Return the state that the connections of a store still have."""
    found = {}
    for driver in await drivers(store):
        for name, query in STATE_QUERIES.items():
            rows = await (await driver.execute(query)).fetchall()
            if rows:
                found[name] = rows
    return found


async def test_connections_keep_nothing_of_their_transactions(postgres_store: PostgresStore, stream: Stream) -> None:
    """So they work behind a transaction pooler, and no namespace leaks into the next use (trust D-8)."""
    namespace_id = stream.namespace_id
    await append(postgres_store, stream, an_event(item_id="x"))
    await postgres_store.events.append_all([a_request(a_write(stream, an_event()))])
    await postgres_store.events.read_stream(stream)
    await postgres_store.events.find_items(stream, ["x"])
    await postgres_store.events.overview(namespace_id)
    await postgres_store.snapshots.save(stream, Snapshot("session", 1, 1, bytes(32), bytes(32), b"state"))
    await postgres_store.snapshots.newest(namespace_id, [stream.stream_id], "session", 1)
    await postgres_store.projections.read_ranges(namespace_id, [(stream.stream_id, 1, 1)], each=9)
    await postgres_store.events.prune_requests(namespace_id, days=7)
    with pytest.raises(sa.exc.DBAPIError):
        async with postgres_store._pool.engine.begin() as connection:
            await connection.execute(sa.text("SELECT set_config('ledger.namespace', 'x', true), 1 / 0"))
    with pytest.raises(DatabaseUnavailable):
        async with postgres_store._pool.transaction(namespace_id) as connection:
            await connection.execute(sa.text("SELECT 1 / 0"))
    assert len(await drivers(postgres_store)) >= 3
    assert await connection_state(postgres_store) == {}


@pytest.mark.parametrize(
    ("what", "statement"),
    [
        ("settings", "SET lock_timeout = '1s'"),
        ("namespace", "SELECT set_config('ledger.namespace', 'x', false)"),
        ("role", "SET ROLE NONE"),
        ("locks", "SELECT pg_advisory_lock(1)"),
        ("temporary tables", "CREATE TEMPORARY TABLE mine (x int)"),
        ("channels", "LISTEN something"),
        ("statements prepared in SQL", "PREPARE something AS SELECT 1"),
    ],
)
async def test_what_a_connection_keeps_is_seen(what: str, statement: str, fresh_store: PostgresStore) -> None:
    """Negative control."""
    (driver, *_) = await drivers(fresh_store)
    await driver.execute(statement)
    assert what in await connection_state(fresh_store)


async def test_a_connection_keeps_its_role_through_rollback_and_reset(fresh_store: PostgresStore) -> None:
    for driver in await drivers(fresh_store):
        for statement in ("RESET ROLE", "DISCARD ALL", "RESET ALL"):
            await driver.execute(statement)
            with pytest.raises(psycopg.errors.DivisionByZero):
                async with driver.transaction():
                    await driver.execute("SELECT 1 / 0")
            assert await (await driver.execute("SELECT current_user")).fetchone() == ("ledger_app",)


async def idle_limit(store: PostgresStore, stream: Stream) -> str:
    async with store._pool.transaction(stream.namespace_id) as connection:
        return str(await connection.scalar(sa.text("SHOW idle_in_transaction_session_timeout")))


async def limits(store: PostgresStore, stream: Stream, *, takes_time: bool = False) -> tuple[str | None, ...]:
    """Return how long a statement, the wait for a lock, and a transaction may take; none where there is no limit."""
    names = ("statement_timeout", "lock_timeout", "transaction_timeout")
    async with store._pool.transaction(stream.namespace_id, takes_time=takes_time) as connection:
        return tuple([await connection.scalar(sa.text(f"SELECT current_setting('{name}', true)")) for name in names])


async def test_a_service_waits_for_no_statement_and_no_lock_for_long(
    server: Server, fresh_database: str, stream: Stream
) -> None:
    """trust S-8; the control is a connection that serves nobody."""
    served = msgspec.structs.replace(server.target(fresh_database), served=True)
    async with opened(server.target(fresh_database)) as store:
        if (await limits(store, stream))[-1] is None:
            pytest.skip("this server has no limit of transactions; PostgreSQL 17 has")
        assert await limits(store, stream) == ("0", "0", "0")
    async with opened(served) as store:
        assert await limits(store, stream) == ("5s", "2s", "1min")
        assert await limits(store, stream, takes_time=True) == ("0", "2s", "0"), "what nobody waits for"
        assert await limits(store, stream) == ("5s", "2s", "1min")
        with server.superuser(fresh_database) as admin:
            admin.execute(f"ALTER DATABASE {fresh_database} SET statement_timeout = '100ms'")
    async with opened(served) as store:
        assert await limits(store, stream) == ("100ms", "2s", "1min"), "what the server's operator set stands"
        with pytest.raises(DatabaseUnavailable):
            async with store._pool.transaction(stream.namespace_id) as connection:
                await connection.execute(sa.text("SELECT pg_sleep(1)"))


async def test_a_server_without_limits_of_transactions_is_served_too(server_15: Server, stream: Stream) -> None:
    with server_15.fresh() as database:
        async with opened(msgspec.structs.replace(server_15.target(database), served=True)) as store:
            assert await limits(store, stream) == ("5s", "2s", None)
            assert await limits(store, stream, takes_time=True) == ("0", "2s", None)


async def dawdle(store: PostgresStore, stream: Stream) -> None:
    async with store._pool.transaction(stream.namespace_id) as connection:
        await asyncio.sleep(1.0)
        await connection.execute(sa.text("SELECT 1"))


async def test_a_transaction_left_open_is_ended_by_the_server(
    server: Server, fresh_database: str, stream: Stream
) -> None:
    """So nobody waits for ever for the locks of a process that was suspended (trust S-8)."""
    async with opened(server.target(fresh_database)) as store:
        assert await idle_limit(store, stream) == "10s"
        with server.superuser(fresh_database) as admin:
            admin.execute(f"ALTER DATABASE {fresh_database} SET idle_in_transaction_session_timeout = '500ms'")
    async with opened(server.target(fresh_database)) as store:
        assert await idle_limit(store, stream) == "500ms", "what the server's operator set stands"
        with pytest.raises(DatabaseUnavailable):
            await dawdle(store, stream)


class Dawdling:
    """Three calls' worth of events, and a pause before the last."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[AppendRequest]:
        for pause_s in (0, 0, 0.5):
            time.sleep(pause_s)
            yield a_request(a_write(self._stream, *some_events(1_000)))


async def test_so_is_a_long_append(fresh_store: PostgresStore, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await fresh_store.events.append_all(Dawdling(stream)) == 3_000
    monkeypatch.setattr(event_store, "LIMIT_IDLE", LIMIT_IDLE.replace("10s", "100ms"))
    with pytest.raises(DatabaseUnavailable):
        await fresh_store.events.append_all(Dawdling(stream))
    assert (await fresh_store.events.head(stream))[0] == 3_000
