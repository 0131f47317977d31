"""Read, fold, decide, append: a command becomes events, also while others write to the same session."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TypeVar, Unpack

from ledger.application.commands.first_answers import append_request, earlier_receipts, first_answer
from ledger.application.commands.joint_writes import JointWrites
from ledger.application.commands.planned_append import decided_events, live_until, opens_life, recorded_events
from ledger.application.commands.session_turns import SessionTurns
from ledger.application.commands.write_requests import (
    CommandsFor,
    Decision,
    DecisionFor,
    Idempotency,
    SessionPart,
    WriteOptions,
    Written,
)
from ledger.errors import LedgerError, Unreadable, VersionConflict
from ledger.events import Event, RecordedEvent
from ledger.events.ids import Stream
from ledger.history.state_loading import States
from ledger.ports import Clock, Receipt, Store, StreamWrite
from ledger.ports.contention import until_uncontended
from ledger.ports.event_encoding import stream_write
from ledger.session.commands import OpenSession
from ledger.session.decide import decide
from ledger.session.state import SessionState

T = TypeVar("T")
log = logging.getLogger("ledger")


class CommandHandler:
    """Writes to the sessions of a store; those to one session have turns within the process."""

    def __init__(self, store: Store, states: States[SessionState], clock: Clock) -> None:
        self._store = store
        self._states = states
        self._clock = clock
        self._turns = SessionTurns()
        self._saving: set[asyncio.Task[None]] = set()
        self._joint = JointWrites(store, states, clock, self._turns, self._taken_in)

    async def write(
        self, stream: Stream, commands_for: CommandsFor, *, actor: str, **options: Unpack[WriteOptions]
    ) -> Written:
        """Write as `write_with_note` does, without a note."""

        async def decision_for(state: SessionState) -> Decision[None]:
            return Decision(await commands_for(state), None)

        written, _ = await self.write_with_note(stream, decision_for, actor=actor, **options)
        return written

    async def write_with_note(
        self,
        stream: Stream,
        decision_for: DecisionFor[T],
        *,
        actor: str,
        commutes: bool = False,
        expected_version: int | None = None,
        idempotency: Idempotency | None = None,
        state: SessionState | None = None,
    ) -> tuple[Written, T | None]:
        """Decide and append, again if another writer was first; return also the note of the decision that was written.

        Commands that *commute*, as adding does, are decided on the cached state and appended at any version, at the
        same time as others that commute. All others are decided on the newest state and appended at exactly its
        version. With *expected_version* they are appended only at that one. A request whose *idempotency* key was used
        before gets its first answer and no note, even if its commands would now be refused or change nothing. A *state*
        that the caller has just read is used for the first attempt.

        Raises:
            IdempotencyMismatch: the key belongs to another request.
            VersionConflict: the session is not at *expected_version*.
            LedgerError: the commands were refused, or the store is unavailable.
        """
        key = stream.stream_id.int  # which hashes at once
        if commutes:
            await self._turns.begin(key, together=True)
            try:
                first = await self._write_together(stream, decision_for, actor, idempotency, expected_version)
            finally:
                self._turns.end(key, together=True)
            if first is not None:
                return first

        await self._turns.begin(key, together=False)
        try:
            return await self._write_alone(
                stream,
                decision_for,
                actor=actor,
                commutes=commutes,
                expected_version=expected_version,
                idempotency=idempotency,
                state=state,
            )
        finally:
            self._turns.end(key, together=False)

    async def write_sessions(
        self, parts: Sequence[SessionPart[T]], *, actor: str, idempotency: Idempotency | None = None
    ) -> list[tuple[Written, T | None]]:
        """Write to several sessions at once, each as `write_with_note` does: all of it, or nothing.

        Each session may be in one part only. The answers are in the order of *parts*.

        Raises:
            IdempotencyMismatch, VersionConflict, LedgerError: as `write_with_note` does.
        """
        return await self._joint.write(parts, actor=actor, idempotency=idempotency)

    async def fork(
        self, stream: Stream, opening: OpenSession, *, actor: str, idempotency: Idempotency | None = None
    ) -> Written:
        """Start *stream* with *opening*, which names its parent and the version of the fork.

        Raises:
            VersionConflict: *stream* has events.
            VersionNotFound: the session to fork has no such version.
        """
        events = decide(SessionState(), opening)
        write = stream_write(stream, events, expected_version=0, clock=self._clock, actor=actor)
        return await self._append(write, events, idempotency)

    async def settle(self) -> None:
        """Wait for snapshots that are being saved."""
        while self._saving:
            await asyncio.wait(self._saving)  # it lets the loop go on, to take out what is saved; `gather` may not

    async def _write_together(
        self,
        stream: Stream,
        decision_for: DecisionFor[T],
        actor: str,
        idempotency: Idempotency | None,
        expected_version: int | None,
    ) -> tuple[Written, T | None] | None:
        """Write commands that commute, decided on the cached state; None if they need the newest one."""
        cached = self._states.folded(stream)
        if cached is None:
            return None
        state, queued = cached
        version = queued[-1].version if queued else state.version
        if expected_version not in {None, version}:
            return None
        try:
            decision = await decision_for(state)
            events = decided_events(state, decision)
        except LedgerError:  # it may have another outcome on the newest state
            return None
        if not events or decision.exact or opens_life(events):
            return None
        write = stream_write(
            stream,
            events,
            expected_version=expected_version,
            items_after=decision.items_after,
            life_after=version,
            live_until_us=live_until(state, events),
            clock=self._clock,
            actor=actor,
        )
        try:
            written = await self._append(write, events, idempotency, decided_on=state)
        except VersionConflict:
            return None
        return written, None if written.replayed else decision.note

    async def _write_alone(
        self,
        stream: Stream,
        decision_for: DecisionFor[T],
        *,
        actor: str,
        commutes: bool,
        expected_version: int | None,
        idempotency: Idempotency | None,
        state: SessionState | None,
    ) -> tuple[Written, T | None]:
        async def attempt(number: int, expired: int | None = None) -> tuple[Written, T | None]:
            before = None
            if not number and state is not None:
                before = await self._states.known(stream) or state  # a writer of this process may have been first
            newest = before or await self._states.newest(stream)
            has_expired = newest.version == expired
            if has_expired:  # by the store's clock, which ours may be behind
                newest = newest.as_expired()

            async def decided() -> tuple[Decision[T], list[Event]]:
                decision = await decision_for(newest)
                return decision, decided_events(newest, decision)

            try:
                if expected_version is not None and expected_version != newest.version:
                    raise VersionConflict(current=newest.version, expected=expected_version)
                decision, events = await self._states.reading(stream, newest, decided)
            except LedgerError:
                earlier = await self._earlier(stream, idempotency)
                if earlier is None:
                    raise
                return earlier, None
            if not events:
                earlier = await self._earlier(stream, idempotency)
                return (earlier, None) if earlier else (Written(newest), decision.note)
            starts = has_expired or opens_life(events)
            is_exact = starts or decision.exact or number > 1 or not commutes or expected_version is not None
            write = stream_write(
                stream,
                events,
                expected_version=newest.version if is_exact else None,
                items_after=decision.items_after,
                life_after=None if is_exact else newest.version,
                live_until_us=None if starts else live_until(newest, events),
                clock=self._clock,
                actor=actor,
            )
            try:
                written = await self._append(write, events, idempotency)
            except VersionConflict as conflict:
                if not conflict.expired:
                    raise
                return await attempt(number + 1, newest.version)
            return written, None if written.replayed else decision.note

        return await (attempt(0) if expected_version is not None else until_uncontended(attempt))

    async def _append(
        self,
        write: StreamWrite,
        events: Sequence[Event],
        idempotency: Idempotency | None,
        *,
        decided_on: SessionState | None = None,
    ) -> Written:
        """Append *events*, encoded as *write*. Those *decided_on* a cached state may wait for a reader."""
        stream = write.stream
        appended = await self._store.events.append(append_request([write], idempotency))
        if appended.replayed:
            return await first_answer(self._store, self._states, stream, appended.receipts)
        recorded = recorded_events(write, events, appended.receipts)
        digest = appended.receipts[-1].hash
        if decided_on is not None and self._states.queue(stream, recorded, digest, follows=appended.follows):
            return Written(decided_on, recorded, appended.receipts)
        return await self._taken_in(stream, recorded, appended.receipts, appended.follows)

    async def _taken_in(
        self,
        stream: Stream,
        recorded: tuple[RecordedEvent, ...],
        receipts: tuple[Receipt, ...],
        follows: bytes | None = None,
    ) -> Written:
        """Return the answer to a write of events that are stored, with the state after them."""
        try:
            state = await self._states.advance(stream, recorded, receipts[-1].hash, follows=follows)
        except Unreadable as fault:  # another writer's events; ours are stored, so this must not fail
            log.warning("a session cannot be read after an append: %s", fault.code)
            state = SessionState(version=recorded[-1].version)
        self._save_snapshot_if_due(stream)
        return Written(state, recorded, receipts)

    async def _earlier(self, stream: Stream, idempotency: Idempotency | None) -> Written | None:
        """Return the first answer to a request; None if it was not carried out before."""
        receipts = await earlier_receipts(self._store, stream, idempotency)
        return None if receipts is None else await first_answer(self._store, self._states, stream, receipts)

    def _save_snapshot_if_due(self, stream: Stream) -> None:
        """Save a snapshot in the background if one is due; without it reads are slower but correct."""
        due = self._states.snapshot_due(stream)
        if due is not None:
            task = asyncio.create_task(self._save(stream, *due))
            self._saving.add(task)
            task.add_done_callback(self._saving.discard)

    async def _save(self, stream: Stream, state: SessionState, digest: bytes) -> None:
        try:
            await self._states.save_snapshot(stream, state, digest)
        except LedgerError as fault:
            log.warning("a snapshot was not saved: %s", fault.code)
