"""A full disk refuses, keeps what was acknowledged, and goes on when there is room. Source: trust P-19, F-8."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.errors import DatabaseUnavailable, StorageFull, Unavailable
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Receipt, Store
from ledger.stores.postgres import faults
from ledger.stores.postgres.migration import upgrade
from tests.support.databases import Server, embedded
from tests.support.killable_server import KillableServer
from tests.support.small_disk import filled, small_disk
from tests.support.store_requests import a_request, a_write, append, some_events
from tests.support.whole_log import assert_whole
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("full_disk")]

DATABASE = "ledger"
LONG = "many words " * 200
#: The time a server on a full disk may take to end itself.
CRASH_S = 60


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A disk of 64 MB."""
    with small_disk(64 * 1024) as folder:
        yield folder


@pytest.fixture(scope="module")
def cramped(disk: Path) -> Iterator[KillableServer]:
    """A server with its files on that disk, and a migrated database."""
    with embedded(disk) as server:
        killable = KillableServer(server, disk)
        with server.superuser("postgres") as admin:
            admin.execute("CREATE DATABASE ledger")
        upgrade(server.database(DATABASE))
        yield killable


@pytest.fixture
async def store(cramped: KillableServer) -> Store:
    """The store on that server; it is never opened again."""
    cramped.start()
    async with opened(cramped.target(DATABASE), patience_s=1) as store:
        yield store


async def append_until_full(store: Store, stream: Stream, receipts: list[Receipt]) -> None:
    """Append what still fits into the pages there are, and keep what was acknowledged.

    Raises:
        StorageFull: at last.
    """
    for _ in range(1_000):
        receipts += (await append(store, stream, *some_events(5, LONG))).receipts


async def test_a_full_disk_refuses_appends_until_there_is_room(disk: Path, store: Store, namespace: str) -> None:
    stream = Stream.of(namespace, "session-1")
    receipts = [*(await append(store, stream, *some_events(3))).receipts]
    with filled(disk):
        with pytest.raises(StorageFull):
            await append_until_full(store, stream, receipts)
        for _ in range(3):
            with pytest.raises(StorageFull, match="nothing was written"):
                await append(store, stream, *some_events(5, LONG))
        with pytest.raises(StorageFull):
            await store.events.append_all([a_request(a_write(stream, *some_events(500, LONG)))] * 3)
        assert len(await store.events.read_stream(stream)) == len(receipts)
    receipts += (await append(store, stream, *some_events(5, LONG))).receipts
    assert len(await assert_whole(store, namespace, receipts)) == len(receipts)


async def test_a_batch_refused_by_a_full_disk_is_stored_once_by_a_retry(
    disk: Path, store: Store, namespace: str
) -> None:
    batch = [{"role": "user", "content": f"{number} {LONG}"} for number in range(20)]
    async with MemoryLedger.open(namespace=namespace, store=store, config={"profile": "none"}) as ledger:
        await ledger.add_user_message("s", "before")
        with filled(disk):
            with pytest.raises(StorageFull):
                await append_until_full(store, Stream.of(namespace, "filling"), [])
            with pytest.raises(StorageFull):
                await ledger.add_entries("s", batch, idempotency_key="k")
            assert len(await ledger.get_active_entries("s")) == 1
        added = await ledger.add_entries("s", batch, idempotency_key="k")
        again = await ledger.add_entries("s", batch, idempotency_key="k")
        assert again.entries == added.entries
        assert len(await ledger.get_active_entries("s")) == 21
        assert (await ledger.verify()).ok


async def test_a_store_that_does_not_know_a_full_disk_is_caught(
    disk: Path, store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "ledger_error", lambda fault: DatabaseUnavailable(str(fault)))
    with pytest.raises(DatabaseUnavailable, match="No space left"):
        await test_a_full_disk_refuses_appends_until_there_is_room(disk, store, namespace)


def use_up_the_log(server: Server) -> None:
    """Let PostgreSQL write into its own log until it needs another file of it, for which there is no room."""
    with suppress(psycopg.OperationalError), server.superuser(DATABASE) as admin:
        _until_closed(admin, "SELECT pg_logical_emit_message(true, 'filling', 'up'), pg_switch_wal()")


def _until_closed(connection: psycopg.Connection[Any], statement: str) -> None:
    """Execute *statement* again and again until the server closed *connection*; a mere refusal does not count.

    Files of its log that the server has ready have to be used up; and when one process of it has ended itself, the
    others work on until they are told.
    """
    deadline = time.monotonic() + CRASH_S
    while not connection.closed:
        assert time.monotonic() < deadline, f"the server still answers after {CRASH_S} s"
        with suppress(psycopg.OperationalError):
            connection.execute(statement)


async def test_a_server_that_crashes_on_a_full_disk_loses_nothing_acknowledged(
    disk: Path, cramped: KillableServer, store: Store, namespace: str
) -> None:
    """Where its own log finds no room PostgreSQL ends itself, and may have to be started again.

    That it ended is seen by a connection that did nothing: what the server writes about itself needs room as well.
    """
    stream = Stream.of(namespace, "session-1")
    receipts: list[Receipt] = [*(await append(store, stream, *some_events(5))).receipts]
    with cramped.server.superuser(DATABASE) as bystander:
        with filled(disk):
            use_up_the_log(cramped.server)
            with pytest.raises(Unavailable):
                await append_until_full(store, stream, receipts)
        _until_closed(bystander, "SELECT 1")
    await asyncio.to_thread(cramped.start)
    receipts += (await append(store, stream, *some_events(5))).receipts
    assert len(await assert_whole(store, namespace, receipts)) == len(receipts)
