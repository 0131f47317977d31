"""One write to several sessions of a namespace: all of it, or nothing. Source: adapters LF-6."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Generic, TypeAlias, TypeVar

import msgspec

from ledger.application.commands.first_answers import append_request, earlier_receipts, first_answer
from ledger.application.commands.planned_append import decided_events, live_until, opens_life, recorded_events
from ledger.application.commands.session_turns import SessionTurns
from ledger.application.commands.write_requests import Decision, Idempotency, SessionPart, Written
from ledger.errors import LedgerError, VersionConflict
from ledger.events import Event, RecordedEvent
from ledger.events.ids import Stream
from ledger.history.state_loading import States
from ledger.ports import Clock, Receipt, Store, StreamWrite
from ledger.ports.contention import until_uncontended
from ledger.ports.event_encoding import stream_write
from ledger.session.state import SessionState

T = TypeVar("T")

#: Returns the answer to a write of events that are stored.
TakeIn: TypeAlias = Callable[[Stream, tuple[RecordedEvent, ...], tuple[Receipt, ...]], Awaitable[Written]]
JointAnswers: TypeAlias = list[tuple[Written, T | None]]


class _DecidedPart(msgspec.Struct, Generic[T], frozen=True):
    """The events of a part in the newest state of its session."""

    state: SessionState
    note: T
    events: Sequence[Event]
    write: StreamWrite


class JointWrites:
    """Decides each part on the newest state of its session, and appends all at exactly these versions."""

    def __init__(
        self, store: Store, states: States[SessionState], clock: Clock, turns: SessionTurns, take_in: TakeIn
    ) -> None:
        self._store = store
        self._states = states
        self._clock = clock
        self._turns = turns
        self._take_in = take_in

    async def write(
        self, parts: Sequence[SessionPart[T]], *, actor: str, idempotency: Idempotency | None
    ) -> JointAnswers[T]:
        """Write *parts*; see `CommandHandler.write_sessions`."""
        expired: set[Stream] = set()

        async def attempt(_number: int) -> JointAnswers[T] | LedgerError:
            try:
                decided = [await self._decided(part, actor, part.stream in expired) for part in parts]
            except LedgerError as refused:
                return await self._earlier(parts, idempotency) or refused
            if not any(each.events for each in decided):
                return await self._earlier(parts, idempotency) or [(Written(each.state), each.note) for each in decided]
            try:
                return await self._append(decided, idempotency)
            except VersionConflict as conflict:
                if conflict.expired:  # by the store's clock, which ours may be behind
                    expired.add(_first_to_expire(decided))
                raise

        async with AsyncExitStack() as turns:
            for key in sorted(part.stream.stream_id.int for part in parts):  # the same order everywhere: no deadlock
                await self._turns.begin(key, together=False)
                turns.callback(self._turns.end, key, together=False)
            found = await until_uncontended(attempt)
        if isinstance(found, LedgerError):
            raise found
        return found

    async def _decided(self, part: SessionPart[T], actor: str, has_expired: bool) -> _DecidedPart[T]:
        newest = await self._states.newest(part.stream)
        if part.expected_version not in {None, newest.version}:
            raise VersionConflict(current=newest.version, expected=part.expected_version or 0)
        state = newest.as_expired() if has_expired else newest

        async def decide() -> tuple[Decision[T], list[Event]]:
            decision = await part.decision_for(state)
            return decision, decided_events(state, decision)

        decision, events = await self._states.reading(part.stream, state, decide)
        write = stream_write(
            part.stream,
            events,
            expected_version=newest.version,
            live_until_us=None if has_expired or opens_life(events) else live_until(state, events),
            clock=self._clock,
            actor=actor,
        )
        return _DecidedPart(state, decision.note, events, write)

    async def _append(self, decided: Sequence[_DecidedPart[T]], idempotency: Idempotency | None) -> JointAnswers[T]:
        writes = [each.write for each in decided]
        appended = await self._store.events.append(append_request(writes, idempotency))
        if appended.replayed:
            return await self._first_answers([write.stream for write in writes], appended.receipts)
        answers: JointAnswers[T] = []
        for each in decided:
            stream = each.write.stream
            receipts = _receipts_of(stream, appended.receipts)
            if not receipts:
                answers.append((Written(each.state), each.note))
                continue
            written = await self._take_in(stream, recorded_events(each.write, each.events, receipts), receipts)
            answers.append((written, each.note))
        return answers

    async def _earlier(
        self, parts: Sequence[SessionPart[T]], idempotency: Idempotency | None
    ) -> JointAnswers[T] | None:
        """Return the first answer to a request; None if it was not carried out before."""
        streams = [part.stream for part in parts]
        anchor = min(streams, key=lambda stream: stream.stream_id)  # the request is stored under the lowest id
        receipts = await earlier_receipts(self._store, anchor, idempotency)
        return None if receipts is None else await self._first_answers(streams, receipts)

    async def _first_answers(self, streams: Sequence[Stream], receipts: Sequence[Receipt]) -> JointAnswers[T]:
        return [
            (await first_answer(self._store, self._states, stream, _receipts_of(stream, receipts)), None)
            for stream in streams
        ]


def _receipts_of(stream: Stream, receipts: Sequence[Receipt]) -> tuple[Receipt, ...]:
    return tuple(receipt for receipt in receipts if receipt.stream_id == stream.stream_id)


def _first_to_expire(decided: Sequence[_DecidedPart[T]]) -> Stream:
    """Return the session that certainly has expired if one of them has."""
    limited = [each.write for each in decided if each.write.live_until_us is not None]
    return min(limited, key=lambda write: write.live_until_us or 0).stream
