"""Nobody waits for ever: a frozen primary, and a synchronous standby that is gone. Source: trust P-21."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from sqlalchemy import text

from ledger import MemoryLedger
from ledger.errors import DatabaseUnavailable
from ledger.events.ids import namespace_id
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.factory import prepare
from ledger.stores.postgres import PostgresStore, Target, deadlines
from tests.support.databases import server_folder
from tests.support.frozen import frozen
from tests.support.killable_server import KillableServer
from tests.support.patience import within

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

TIMEOUT_S = 2.0
WRITERS = 8


@contextmanager
def frozen_primary(killable: KillableServer) -> Iterator[None]:
    """Let the server do nothing."""
    with frozen(killable._postmaster()):
        yield


@contextmanager
def standby_lost(killable: KillableServer) -> Iterator[None]:
    """Let each commit wait for a standby that is not there."""
    with killable.settings(synchronous_standby_names="nobody"):
        yield


FAULTS = {"frozen primary": frozen_primary, "lost standby": standby_lost}


@asynccontextmanager
async def opened(killable: KillableServer, database: str, namespace: str) -> AsyncIterator[MemoryLedger]:
    """Yield a ledger with a deadline of `TIMEOUT_S`."""
    target = killable.target(database)
    store = await PostgresStore.open(Target(target.url, embedded=True, timeout_s=TIMEOUT_S))
    try:
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            yield ledger
    finally:
        await store.close()


async def timed(call: Awaitable[Any]) -> tuple[str, float]:
    """Return how *call* ended, and after how many seconds."""
    started = time.monotonic()
    try:
        await call
    except DatabaseUnavailable as fault:
        return str(fault), time.monotonic() - started
    return "ok", time.monotonic() - started


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
async def test_every_writer_hears_in_time_and_what_was_acknowledged_is_there_once(
    killable: KillableServer, database: str, namespace: str, fault: Callable[[KillableServer], Any]
) -> None:
    async with opened(killable, database, namespace) as ledger:
        sessions = [f"s{number}" for number in range(WRITERS)]
        for session in sessions:
            await ledger.add_user_message(session, "before", idempotency_key="before")

        def write(session: str) -> Awaitable[Any]:
            return ledger.add_user_message(session, "during", idempotency_key="during")

        with fault(killable):
            for _ in range(2):  # the second time connections are new
                ends = await asyncio.gather(*(timed(write(session)) for session in sessions))
                assert all("not answer" in end or "busy" in end or "expired" in end for end, _ in ends), ends
                assert max(seconds for _, seconds in ends) < within(TIMEOUT_S + 1), ends
        for session in sessions:  # the same call again settles what happened
            until = time.monotonic() + 20
            while (await timed(write(session)))[0] != "ok":
                assert time.monotonic() < until
            assert [entry.content for entry in await ledger.get_transcript(session)] == ["before", "during"]
            assert (await ledger.verify(session)).ok


async def test_every_kind_of_call_on_a_frozen_server_ends_in_time(
    killable: KillableServer, database: str, namespace: str
) -> None:
    calls: dict[str, Callable[[MemoryLedger], Awaitable[Any]]] = {
        "add": lambda ledger: ledger.add_user_message("s", "x"),
        "context": lambda ledger: ledger.get_context("s"),
        "transcript": lambda ledger: ledger.get_transcript("s"),
        "list": lambda ledger: ledger.list_sessions(),
        "search": lambda ledger: ledger.search("hello"),
        "verify": lambda ledger: ledger.verify("s"),
        "what-if": lambda ledger: ledger.what_if("s", {"window": {"type": "recall", "max_tokens": 100}}),
        "fork": lambda ledger: ledger.fork("s", "t"),
        "clear": lambda ledger: ledger.clear_session("s"),
        "settle": lambda ledger: ledger.settle("s"),
    }
    async with opened(killable, database, namespace) as ledger:
        await ledger.add_user_message("s", "hello")
        for call in (calls["list"], calls["search"]):
            await call(ledger)
        with frozen_primary(killable):
            ends = dict(
                zip(calls, await asyncio.gather(*(timed(call(ledger)) for call in calls.values())), strict=True)
            )
        assert all(seconds < within(TIMEOUT_S + 1) for _, seconds in ends.values()), ends
        assert Counter(end == "ok" for end, _ in ends.values())[True] <= 2, ends  # what is in memory may be answered
        assert (await timed(ledger.get_transcript("s")))[0] == "ok"


async def test_a_frozen_server_is_not_opened_for_ever(killable: KillableServer, database: str) -> None:
    with frozen_primary(killable):
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            await PostgresStore.open(Target(killable.target(database).url, embedded=True, timeout_s=4))
        assert time.monotonic() - started < within(5)


async def test_a_cancelled_caller_waits_no_longer_either(
    killable: KillableServer, database: str, namespace: str
) -> None:
    async with opened(killable, database, namespace) as ledger:
        await ledger.add_user_message("s", "hello")
        with standby_lost(killable):
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ledger.add_user_message("s", "cancelled", idempotency_key="c"), 0.3)
            assert time.monotonic() - started < within(1)
            end, _ = await timed(ledger.add_user_message("s", "cancelled", idempotency_key="c"))
            assert end != "ok", "it would acknowledge what no standby has"
        await ledger.add_user_message("s", "cancelled", idempotency_key="c")
        assert [entry.content for entry in await ledger.get_transcript("s")] == ["hello", "cancelled"]


@pytest.mark.full
async def test_a_driver_without_deadline_is_caught(
    killable: KillableServer, database: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: an answer that may take for ever does."""
    monkeypatch.setattr(deadlines, "_limited", lambda running, *_: running)
    async with opened(killable, database, namespace) as ledger:
        await ledger.add_user_message("s", "hello")
        await ledger.list_sessions()
        with frozen_primary(killable):
            reading = asyncio.ensure_future(timed(ledger.get_transcript("s")))
            _, waiting = await asyncio.wait([reading], timeout=2 * TIMEOUT_S)
            assert waiting
        await reading


async def slept(store: PostgresStore, namespace: str, seconds: float) -> None:
    """Let a statement that may take time take so long."""
    async with store._pool.transaction(namespace_id(namespace), takes_time=True) as connection:
        await connection.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})


@pytest.mark.full
@pytest.mark.parametrize("attributes", ["", "CONNECTION LIMIT 1"])
async def test_what_takes_time_ends_if_the_server_does_not_work(
    killable: KillableServer, database: str, namespace: str, attributes: str
) -> None:
    """It may take longer than the deadline, also if there is no connection to ask with; it took up to 20 deadlines."""
    with killable.server.login("ledger_app", attributes=attributes) as login:
        store = await PostgresStore.open(Target(killable.server.url_of(login, database), timeout_s=TIMEOUT_S))
        try:
            await slept(store, namespace, 1.5 * TIMEOUT_S)
            sleeping = asyncio.create_task(timed(slept(store, namespace, 60)))
            await asyncio.sleep(TIMEOUT_S)
            with frozen(killable._postmaster()):
                end, seconds = await sleeping
            assert "did not answer" in end
            assert seconds < 15, "20 times the 1 s of an answer"
        finally:
            await store.close()


def test_a_command_ends_in_time() -> None:
    """A long statement is waited for as long as the server works on it; a frozen server ends it."""
    with server_folder() as folder:
        server = EmbeddedServer(folder / "data")
        prepare(server)
        try:
            with deadlines.connect(server.url, timeout_s=1, takes_time=True, autocommit=True) as connection:
                assert connection.execute("SELECT pg_sleep(2)").fetchone() is not None
            short = deadlines.connect(server.url, timeout_s=1, autocommit=True)
            with short as connection, pytest.raises(deadlines.AnswerLate):
                connection.execute("SELECT pg_sleep(2)")
        finally:
            server.stop()
