"""Two ledgers that do the same, one in memory and one on PostgreSQL, and the comparison of what they hold."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ledger.errors import LedgerError
from ledger.events import RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream, ulid
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from tests.support.ledgers import ledger_over

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
SESSION_ID = "session-1"


class CountingClock:
    """Times and ids that are the same in both ledgers, because both ask equally often."""

    def __init__(self) -> None:
        self._count = 0

    def _next(self) -> int:
        self._count += 1
        return self._count

    def now(self) -> datetime:
        """Return a moment one second later than the last."""
        return START + timedelta(seconds=self._next())

    def event_id(self) -> UUID:
        """Return the next id."""
        return UUID(int=(7 << 76) | (2 << 62) | self._next())

    def ulid(self) -> str:
        """Return the next ULID."""
        return ulid(self._next().to_bytes(16, "big"))


def brief(prompt: str) -> str:
    """Summarise without a model, always alike."""
    return f"about {len(prompt)} characters"


class Twin:
    """One of the two: a ledger on a store, whose caches can be dropped."""

    def __init__(self, store: Store, namespace: str) -> None:
        self.store = store
        self.stream = Stream.of(namespace, SESSION_ID)
        self._clock = CountingClock()
        self.ledger = self._open()

    def _open(self) -> MemoryLedger:
        config = {"max_entries": 6, "recent_window": 2, "min_entries_to_compress": 2, "tokenizer": "approximate"}
        ledger = ledger_over(self.store, namespace=self.stream.namespace, clock=self._clock, config=config)
        ledger.set_summarizer(None, brief)
        return ledger

    async def reopen(self) -> None:
        """Drop every cached state."""
        await self.ledger.close()
        self.ledger = self._open()

    async def do(self, act: "Callable[[MemoryLedger], Awaitable[Any]]") -> Any:
        """Return what *act* returns, or the code of its refusal."""
        try:
            result = await act(self.ledger)
        except LedgerError as refused:
            result = (type(refused), refused.code)
        await self.ledger.settle()
        await self.ledger._handle.services.commands.settle()
        return result

    async def events(self) -> list[RecordedEvent]:
        """Return the history."""
        return [decode(event) for event in await self.store.events.read_stream(self.stream)]


async def check_folds(twin: Twin) -> list[RecordedEvent]:
    """Assert that every version reads as the fold of the events up to it (trust P-8); return the events.

    What reads has no cached state, so each answer is a snapshot and the few events after it.
    """
    events = await twin.events()
    state: SessionState = SESSION.initial
    for version, event in enumerate(events, start=1):
        state = SESSION.evolve(state, event)
        reader = ledger_over(twin.store, namespace=twin.stream.namespace)
        assert await reader.get_state(SESSION_ID, version=version) == end_of_batch(state), f"version {version}"
    if events:
        reader = ledger_over(twin.store, namespace=twin.stream.namespace)
        assert await reader.get_state(SESSION_ID) == end_of_batch(state)
        assert await twin.ledger.get_state(SESSION_ID) == end_of_batch(state), "the cached state"
    return events


def timeless(event: RecordedEvent) -> tuple[Any, ...]:
    """Return everything of *event* that is the same whenever it is recorded."""
    return (event.version, event.event_id, event.occurred_us, event.actor, event.payload)


async def check_twins(item: Twin, other: Twin) -> None:
    """Assert that both hold the same history, and that each reads as its fold: so the states are the same."""
    first, second = await asyncio.gather(check_folds(item), check_folds(other))
    assert [timeless(event) for event in first] == [timeless(event) for event in second]
    contexts = [await twin.ledger.get_context(SESSION_ID) for twin in (item, other)]
    assert contexts[0].text == contexts[1].text
    assert contexts[0].messages == contexts[1].messages
