"""A database that fails once and callers who leave: each adapter writes once. Source: adapters AD-10, AD-11, AD-14."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ledger.adapters import opened_ledger
from ledger.errors import DatabaseUnavailable
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.contract.kinds import KINDS, Kind, each_kind, each_that_clears
from tests.faults.intercepted_store import InterceptedStore
from tests.support.failing_store import FailsNthCall, WaitsToAppend
from tests.support.ledgers import ledger_over

FIRST, SECOND = ["a", "b"], ["c", "d"]
#: Entries of Pydantic AI have ids of their own, so a second write of them is known anyway.
WITH_KEYS = [kind for kind in KINDS if kind.name != "pydantic_ai"]


class FailingAppends(FailsNthCall):
    """Only appends fail: a read is repeated by the store, not by an adapter."""

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Fail the n-th append."""
        if "append" not in name:
            return await method(*args, **options)
        return await super().intercept(name, method, *args, **options)


async def stored(store: Store) -> list[str]:
    """Return the types of all events."""
    ledger = ledger_over(store)
    sessions = sorted(await ledger.list_sessions(), key=lambda session: session.session_id)
    return [
        event.payload.type
        for session in sessions
        for event in await ledger.get_events(session.session_id, user_id=session.user_id)
    ]


async def written(kind: Kind) -> InMemoryStore:
    """Return a store to which the first texts were written."""
    memory = InMemoryStore()
    await kind.write(kind.open(ledger=ledger_over(memory)), FIRST)
    return memory


async def failing_uses(kind: Kind, use: Callable[[Any], Awaitable[Any]], *, after: bool) -> list[tuple[Any, ...]]:
    """Use the adapter with no append failing, then with each in turn; return what is then read and stored."""
    found = []
    for n in range(20):
        memory = await written(kind)
        failing: Any = FailingAppends(memory, n, after=after)
        await use(kind.open(ledger=ledger_over(failing)))
        found.append((await kind.read(kind.open(ledger=ledger_over(memory))), await stored(memory)))
        if n and not failing.failed:
            break
    assert len(found) > 2
    return found


@each_kind
@pytest.mark.parametrize("after", [False, True])
async def test_a_write_is_in_the_log_once_however_the_database_fails__AD_10(kind: Kind, after: bool) -> None:
    undisturbed, *others = await failing_uses(kind, lambda adapter: kind.write(adapter, SECOND), after=after)
    assert undisturbed[0] == FIRST + SECOND
    for found in others:
        assert found == undisturbed


@each_that_clears
@pytest.mark.parametrize("after", [False, True])
async def test_what_is_taken_away_is_taken_away_once__AD_10(kind: Kind, after: bool) -> None:
    assert kind.clear is not None
    undisturbed, *others = await failing_uses(kind, kind.clear, after=after)
    assert undisturbed[0] == []
    for found in others:
        assert found == undisturbed


@each_that_clears
async def test_what_comes_after_a_deletion_whose_answer_was_lost_stays__AD_10(kind: Kind) -> None:
    assert kind.clear is not None
    assert await read_after_a_lost_deletion(kind, kind.clear) == SECOND


@each_that_clears
async def test_a_deletion_that_has_no_key_takes_what_came_after_it(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    assert kind.clear is not None
    monkeypatch.setattr("ledger.application.handle.NamespaceHandle.idempotency", lambda *asked: None)
    assert await read_after_a_lost_deletion(kind, kind.clear) == []


async def read_after_a_lost_deletion(kind: Kind, clear: Callable[[Any], Awaitable[Any]]) -> list[str]:
    """Clear, lose the answer while another program begins the conversation anew, and return what is read then."""
    memory = await written(kind)

    class LosesTheFirstAnswer(InterceptedStore):
        is_lost = False

        async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
            answer = await method(*args, **options)
            if "append" in name and not self.is_lost:
                self.is_lost = True
                await kind.write(kind.open(ledger=ledger_over(memory)), SECOND)
                raise DatabaseUnavailable("the answer is lost")
            return answer

    losing: Any = LosesTheFirstAnswer(memory)
    await clear(kind.open(ledger=ledger_over(losing)))
    return await kind.read(kind.open(ledger=ledger_over(memory)))


@pytest.mark.parametrize("kind", WITH_KEYS, ids=lambda kind: kind.name)
async def test_a_write_that_is_done_twice_is_seen(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without a key, or a look at what is stored, the answer that was lost doubles the write."""
    monkeypatch.setattr("ledger.application.handle.NamespaceHandle.idempotency", lambda *asked: None)
    monkeypatch.setattr("ledger.application.reading.key_value_reads.get_kept", nothing_kept)
    undisturbed, *others = await failing_uses(kind, lambda adapter: kind.write(adapter, SECOND), after=True)
    assert any(found != undisturbed for found in others)


async def nothing_kept(*asked: Any, **options: Any) -> None:
    return None


@each_kind
async def test_a_write_that_began_is_finished_before_the_cancellation__AD_11(kind: Kind) -> None:
    memory = await written(kind)
    before = await stored(memory)
    waiting: Any = WaitsToAppend(memory)
    writing = asyncio.ensure_future(kind.write(kind.open(ledger=ledger_over(waiting)), SECOND))
    await waiting.begun.wait()
    for _ in range(2):
        writing.cancel()
        await asyncio.sleep(0.01)
        assert not writing.done()
    waiting.goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert len(await stored(memory)) > len(before)
    assert await kind.read(kind.open(ledger=ledger_over(memory))) in (FIRST, FIRST + SECOND)


@each_kind
async def test_errors_of_the_ledger_pass_and_no_content_is_logged__AD_14(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(FailingAppends):
        failed = False

        async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
            if "append" in name:
                raise DatabaseUnavailable("it is away")
            return await method(*args, **options)

    caplog.set_level(logging.DEBUG, logger="ledger")
    refusing: Any = Refusing(InMemoryStore(), 0, after=False)
    with pytest.raises(DatabaseUnavailable):
        await kind.write(kind.open(ledger=ledger_over(refusing)), ["a secret of the user"])
    assert await kind.read(kind.open(ledger=ledger_over(InMemoryStore()))) == [], "an unknown session is empty"
    assert "a secret of the user" not in caplog.text


async def test_what_took_a_whole_deadline_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = 0

    async def silent(ledger: MemoryLedger) -> None:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0.05)
        raise DatabaseUnavailable("the database did not answer")

    async with MemoryLedger.open(store=InMemoryStore()) as ledger:
        with pytest.raises(DatabaseUnavailable):
            await opened_ledger.repeated(silent)(ledger)
        assert tries == 3
        monkeypatch.setattr(opened_ledger, "_PATIENCE_S", 0.01)
        with pytest.raises(DatabaseUnavailable):
            await opened_ledger.repeated(silent)(ledger)
        assert tries == 4
