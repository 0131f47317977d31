"""Closing a store lets appends under way finish, and no connection outlives it. Source: ports.Store.close."""

import asyncio

import psycopg
import pytest

from ledger.events.ids import Stream
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, append, some_events
from tests.support.writers_under_load import opened

pytestmark = pytest.mark.postgres


def connections_to(admin: psycopg.Connection, database: str) -> int:
    """Return how many connections of the application there are."""
    found = admin.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'memory-ledger'", (database,)
    ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("group_commit", [True, False], ids=["grouped", "alone"])
@pytest.mark.parametrize("appends", [1, 12])
async def test_appends_under_way_finish_before_a_store_is_closed(
    server: Server, fresh_database: str, namespace: str, group_commit: bool, appends: int
) -> None:
    stream = Stream.of(namespace, "session-1")
    async with opened(server.target(fresh_database)) as store:
        await append(store, stream, an_event())
    async with opened(server.target(fresh_database), group_commit=group_commit) as store:
        tasks = [asyncio.create_task(append(store, stream, *some_events(50))) for _ in range(appends)]
        long = asyncio.create_task(store.events.append_all([a_request(a_write(stream, *some_events(50)))] * 2))
        await asyncio.sleep(0)
    assert all(task.done() and len(task.result().receipts) == 50 for task in tasks)
    assert long.done()
    assert long.result() == 100
    with server.superuser("postgres") as admin:
        for _ in range(200):  # a backend is a moment about ending
            if not connections_to(admin, fresh_database):
                return
            await asyncio.sleep(0.05)
    raise AssertionError("a connection outlives its store")
