"""Limits of the server are refusals, and pass. Source: trust P-19, R-7, F-9."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event

import psycopg
import pytest
from psycopg import sql

from ledger.errors import DatabaseUnavailable, Unavailable
from ledger.events.ids import Stream
from ledger.ports import AppendRequest
from ledger.stores.postgres import PostgresStore, append_retry
from tests.support.databases import Server
from tests.support.killable_server import KillableServer
from tests.support.patience import within
from tests.support.store_requests import a_request, a_write, an_event, append, some_events
from tests.support.whole_log import assert_whole
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]


@pytest.fixture
def stream(namespace: str) -> Stream:
    """A session that nobody has written to."""
    return Stream.of(namespace, "session-1")


def take_all_connections(server: Server, stack: ExitStack) -> None:
    """Take connections until the server has none left."""
    for _ in range(100):
        stack.enter_context(server.superuser("postgres"))


@contextmanager
def all_connections_taken(server: Server) -> Iterator[None]:
    """Leave the server no free connection, and the ledger none: it would write over one that it has open."""
    ended = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'memory-ledger'"
    count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with server.superuser("postgres") as admin:  # opened first: a backend ends a moment after its client has gone
        assert admin.execute(ended).fetchall() == [(True,)], "the control: it has one"
        with ExitStack() as stack:
            with pytest.raises(psycopg.OperationalError, match="too many clients"):
                take_all_connections(server, stack)
            yield
        end = time.monotonic() + within(5)
        while admin.execute(count).fetchall()[0][0] > 3 and time.monotonic() < end:
            time.sleep(0.02)


@pytest.mark.full
async def test_a_server_without_free_connections_is_unavailable_until_there_are_some(
    killable: KillableServer, database: str, stream: Stream
) -> None:
    with killable.settings(restart=True, max_connections="8"):
        async with opened(killable.target(database), patience_s=0.5) as store:
            with all_connections_taken(killable.server):
                with pytest.raises(DatabaseUnavailable):
                    await PostgresStore.open(killable.target(database))
                with pytest.raises(DatabaseUnavailable):
                    await append(store, stream, *some_events(3))
            assert await store.events.read_stream(stream) == []
            appended = await append(store, stream, *some_events(3))
            await assert_whole(store, stream.namespace, appended.receipts)


async def test_an_append_waits_for_a_free_connection(killable: KillableServer, database: str, stream: Stream) -> None:
    with killable.settings(restart=True, max_connections="8"):
        async with opened(killable.target(database)) as store:
            with all_connections_taken(killable.server):
                waiting = asyncio.create_task(append(store, stream, an_event()))
                await asyncio.sleep(0.5)
                assert not waiting.done()
            await assert_whole(store, stream.namespace, (await waiting).receipts)


@contextmanager
def locked(server: Server, database: str, stream: Stream) -> Iterator[None]:
    """Hold the lock that every append to *stream* takes."""
    with server.superuser(database) as holder, holder.transaction():
        found = holder.execute("SELECT FROM ledger.streams WHERE stream_id = %s FOR UPDATE", (stream.stream_id,))
        assert found.rowcount == 1
        yield


def limited(server: Server, database: str, name: str, value: str) -> None:
    """Give new connections to *database* another limit."""
    statement = sql.SQL("ALTER DATABASE {} SET {} = {}")
    with server.superuser("postgres") as admin:
        admin.execute(statement.format(sql.Identifier(database), sql.Identifier(name), sql.Literal(value)))


@pytest.mark.full
@pytest.mark.parametrize("limit", ["statement_timeout", "lock_timeout"])
@pytest.mark.parametrize("group_commit", [True, False], ids=["grouped", "alone"])
async def test_appends_that_take_too_long_are_refused_and_leave_nothing(
    killable: KillableServer, database: str, stream: Stream, limit: str, group_commit: bool
) -> None:
    async with opened(killable.target(database)) as store:
        first = await append(store, stream, an_event())
    limited(killable.server, database, limit, "100ms")
    async with opened(killable.target(database), group_commit=group_commit, patience_s=0.5) as store:
        with locked(killable.server, database, stream):
            started = time.monotonic()
            appends = (append(store, stream, *some_events(2)) for _ in range(8))
            answers = await asyncio.gather(*appends, return_exceptions=True)
            assert [type(answer) for answer in answers] == [DatabaseUnavailable] * 8
            assert time.monotonic() - started < within(10)
            assert len(await store.events.read_stream(stream)) == 1
        second = await append(store, stream, an_event())
        await assert_whole(store, stream.namespace, [*first.receipts, *second.receipts])
        assert (await store.events.head(stream))[0] == 2


async def test_a_lock_that_is_freed_in_time_delays_an_append(
    killable: KillableServer, database: str, stream: Stream
) -> None:
    limited(killable.server, database, "lock_timeout", "100ms")
    async with opened(killable.target(database)) as store:
        await append(store, stream, an_event())
        with locked(killable.server, database, stream):
            waiting = asyncio.create_task(append(store, stream, an_event()))
            await asyncio.sleep(0.5)
            assert not waiting.done()
        assert (await waiting).receipts[0].version == 2


class Interrupted:
    """Three requests of a thousand events; when the third is asked for, one is stored and *then* comes first."""

    def __init__(self, streams: Sequence[Stream], then: Callable[[], None]) -> None:
        self._streams = streams
        self.then = then

    def __iter__(self) -> Iterator[AppendRequest]:
        for number, stream in enumerate(self._streams):
            if number == 2:
                self.then()
            yield a_request(a_write(stream, *some_events(1_000)))


@pytest.mark.full
async def test_a_long_append_that_dawdles_is_cut_off_and_leaves_nothing(
    killable: KillableServer, database: str, stream: Stream
) -> None:
    limited(killable.server, database, "idle_in_transaction_session_timeout", "500ms")
    requests = Interrupted([stream] * 3, then=lambda: time.sleep(1.5))
    async with opened(killable.target(database)) as store:
        with pytest.raises(DatabaseUnavailable):
            await store.events.append_all(requests)
        assert await store.events.read_stream(stream) == []
        requests.then = lambda: None
        limited(killable.server, database, "idle_in_transaction_session_timeout", "0")  # a busy machine dawdles, too
        assert await store.events.append_all(requests) == 3_000
        assert len(await assert_whole(store, stream.namespace, [])) == 3_000


async def test_two_long_appends_to_the_same_sessions_in_another_order_both_go_through(
    killable: KillableServer, database: str, stream: Stream
) -> None:
    other = Stream.of(stream.namespace, "session-2")
    orders = [(stream, other), (other, stream)]
    requests = [[a_request(a_write(each, *some_events(1_000))) for each in order] for order in orders]
    with killable.settings(deadlock_timeout="10ms"):
        async with opened(killable.target(database)) as store:
            await append(store, stream, an_event())
            await append(store, other, an_event())
            assert await asyncio.gather(*(store.events.append_all(each) for each in requests)) == [2_000, 2_000]
            assert len(await assert_whole(store, stream.namespace, [])) == 4_002


def entangle(server: Server, database: str, stream: Stream, locked: Event, started: Event) -> None:
    """Take the locks of an append to *stream*: its own, and when another has *started*, the one that holds."""
    with server.superuser(database) as holder, holder.transaction():
        holder.execute("SELECT FROM ledger.streams WHERE stream_id = %s FOR UPDATE", (stream.stream_id,))
        locked.set()
        assert started.wait(10)
        holder.execute("SET deadlock_timeout = '1h'")
        holder.execute("SELECT FROM ledger.namespaces WHERE namespace_id = %s FOR UPDATE", (stream.namespace_id,))


async def test_a_long_append_is_tried_again_after_a_deadlock(
    killable: KillableServer, database: str, stream: Stream
) -> None:
    other, locked, started = Stream.of(stream.namespace, "session-2"), Event(), Event()
    times: list[float] = []

    def then() -> None:
        times.append(time.monotonic())
        started.set()
        time.sleep(0.2)  # until the other waits for us

    with killable.settings(deadlock_timeout="10ms"):
        async with opened(killable.target(database)) as store:
            await append(store, stream, an_event())
            await append(store, other, an_event())
            entangled = asyncio.create_task(
                asyncio.to_thread(entangle, killable.server, database, other, locked, started)
            )
            assert await asyncio.to_thread(locked.wait, 10)
            try:
                assert await store.events.append_all(Interrupted([stream, other, stream], then)) == 3_000
            finally:
                await entangled
            assert len(times) == 2
            assert len(await assert_whole(store, stream.namespace, [])) == 3_002


async def test_a_store_that_does_not_try_again_after_a_deadlock_is_caught(
    killable: KillableServer, database: str, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_retry, "CONTENTION_RETRIES", 0)
    with pytest.raises(Unavailable, match="40P01"):
        await test_a_long_append_is_tried_again_after_a_deadlock(killable, database, stream)
