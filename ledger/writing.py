"""Read, fold, decide, append: how a command becomes history, whoever else writes at the same time."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Final, TypeAlias
from uuid import UUID
from weakref import WeakValueDictionary

import msgspec

from ledger.canonical import canonical_json
from ledger.codec import SALT_BYTES, decode, encode
from ledger.errors import IdempotencyMismatch, LedgerError, Unavailable, Unreadable, VersionConflict
from ledger.events import (
    ConfigChanged,
    EntryAdded,
    Event,
    JsonObject,
    NewEvent,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
    to_microseconds,
)
from ledger.ids import Stream
from ledger.ports import AppendRequest, Clock, Receipt, Store, StreamWrite
from ledger.replay.states import States
from ledger.session.commands import Command, OpenSession
from ledger.session.decisions import decide
from ledger.session.state import SessionState
from projections.ranges import ranges_of

log = logging.getLogger("ledger")

#: What to ask of a session, given its state; asked again with a newer state if another writer was first.
CommandsFor: TypeAlias = Callable[[SessionState], Awaitable[Sequence[Command]]]

_ATTEMPTS: Final = 50  # each lost attempt means that somebody else's append went through


class Written(msgspec.Struct, frozen=True):
    """What a write left: the state after it, its events with their receipts, or those of its first attempt."""

    state: SessionState
    events: tuple[RecordedEvent, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    replayed: bool = False

    @property
    def version(self) -> int:
        """The version that the write led to, whoever has written since; of one without events, the state's."""
        return self.receipts[-1].version if self.receipts else self.state.version


class Idempotency(msgspec.Struct, frozen=True):
    """A client's key for a request, as the store takes it (trust R-6)."""

    request_id: UUID
    request_hash: bytes


class Writer:
    """Writes to the sessions of one ledger; writers of one session queue within the process."""

    def __init__(self, store: Store, states: States, clock: Clock, *, actor: str = "") -> None:
        self._store = store
        self._states = states
        self._clock = clock
        self._actor = actor
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._saving: set[asyncio.Task[None]] = set()

    async def write(
        self,
        stream: Stream,
        commands_for: CommandsFor,
        *,
        commutes: bool = False,
        expected_version: int | None = None,
        idempotency: Idempotency | None = None,
    ) -> Written:
        """Decide and append until no other writer came between.

        Commands that *commute*, as adding does, are decided on the cached state and appended at any version;
        all others on the newest state, and at exactly that version. With *expected_version* there is one try. A
        request that was carried out before, by its *idempotency* key, gets its first answer, also where its
        commands would now be refused or change nothing (trust R-6).

        Raises:
            IdempotencyMismatch: the key belongs to another request.
            VersionConflict: the session is not at *expected_version*.
            LedgerError: the commands were refused, or the store is unavailable.
        """
        lock = self._locks.get(stream.stream_id) or self._locks.setdefault(stream.stream_id, asyncio.Lock())
        async with lock:
            state = self._states.known(stream) if commutes and expected_version is None else None
            for _ in range(_ATTEMPTS):
                state = state or await self._states.current(stream)
                try:
                    events = await _decided(state, commands_for, expected_version)
                except LedgerError:
                    earlier = await self._earlier(stream, idempotency)
                    if earlier is None:
                        raise
                    return earlier
                if not events:
                    return await self._earlier(stream, idempotency) or Written(state)
                opens = any(isinstance(event, SessionOpened) for event in events)
                exact = state.version if opens or not commutes else None
                try:
                    return await self._append(
                        stream, events, exact if expected_version is None else expected_version, idempotency
                    )
                except VersionConflict:
                    if expected_version is not None:
                        raise
                    state = None
        raise Unavailable("other writers kept coming first; try again")

    async def fork(self, stream: Stream, opening: OpenSession, *, idempotency: Idempotency | None = None) -> Written:
        """Begin *stream* with *opening*, which says where it is forked from.

        Raises:
            VersionConflict: *stream* has events.
            VersionNotFound: the session to fork has no such version.
        """
        return await self._append(stream, decide(SessionState(), opening), 0, idempotency)

    def request(self, stream: Stream, events: Sequence[Event], expected: int | None) -> AppendRequest:
        """Return decided events as a request, for those who append many in one transaction."""
        return AppendRequest(writes=(self._stream_write(stream, events, expected),))

    async def settle(self) -> None:
        """Wait for the snapshots being written."""
        while self._saving:
            await asyncio.gather(*self._saving, return_exceptions=True)

    async def _append(
        self, stream: Stream, events: Sequence[Event], expected: int | None, idempotency: Idempotency | None
    ) -> Written:
        write = self._stream_write(stream, events, expected)
        request = AppendRequest(
            writes=(write,),
            request_id=idempotency.request_id if idempotency else None,
            request_hash=idempotency.request_hash if idempotency else None,
        )
        appended = await self._store.append(request)
        if appended.replayed:
            return await self._first_answer(stream, appended.receipts)
        recorded = tuple(
            RecordedEvent(
                receipt.version,
                receipt.position,
                receipt.event_id,
                new.occurred_us,
                receipt.recorded_us,
                new.actor,
                event,
            )
            for event, new, receipt in zip(events, write.events, appended.receipts, strict=True)
        )
        try:
            state = await self._states.advance(stream, recorded)
        except Unreadable as fault:  # of another writer's events; ours are stored, and may not be sent again
            log.warning("a session cannot be read after an append: %s", fault.code)
            state = SessionState(version=recorded[-1].version)
        self._keep_snapshot(stream)
        return Written(state, recorded, appended.receipts)

    async def _earlier(self, stream: Stream, idempotency: Idempotency | None) -> Written | None:
        """Return what a request was answered with before; none if it was not carried out."""
        if idempotency is None:
            return None
        found = await self._store.find_request(stream, idempotency.request_id)
        if found is None:
            return None
        if found.request_hash != idempotency.request_hash:
            raise IdempotencyMismatch
        return await self._first_answer(stream, found.receipts)

    async def _first_answer(self, stream: Stream, receipts: Sequence[Receipt]) -> Written:
        versions = ranges_of(receipt.version for receipt in receipts)
        events = tuple(decode(stored) for stored in await self._store.read_versions(stream, versions))
        return Written(await self._states.current(stream), events, tuple(receipts), replayed=True)

    def _stream_write(self, stream: Stream, events: Sequence[Event], expected: int | None) -> StreamWrite:
        digest: bytes | None = None
        ended: bool | None = None
        forked_from: tuple[Stream, int] | None = None
        for event in events:
            match event:
                case SessionOpened(config=config, forked_from=origin):
                    digest, ended = _digest(config), False
                    if origin is not None:
                        parent = Stream.of(stream.namespace, origin.session_id, origin.user_id)
                        forked_from = (parent, origin.version)
                case ConfigChanged(config=config):
                    digest = _digest(config)
                case SessionCleared():
                    ended = event.ended
                case _:
                    pass
        return StreamWrite(
            stream=stream,
            events=tuple(self.new_event(event) for event in events),
            expected_version=expected,
            config_digest=digest,
            ended=ended,
            forked_from=forked_from,
        )

    def new_event(self, event: Event) -> NewEvent:
        """Return *event* encoded and salted, with an id and its time."""
        moment = event.created_at if isinstance(event, EntryAdded) else None
        codec, payload = encode(event, os.urandom(SALT_BYTES))
        return NewEvent(
            self._clock.event_id(),
            event.type,
            event.schema_version,
            codec,
            to_microseconds(moment or self._clock.now()),
            self._actor,
            payload,
            event.item_id,
        )

    def _keep_snapshot(self, stream: Stream) -> None:
        """Write a snapshot in the background if one is due; without one, reads are slower and nothing else."""
        state = self._states.snapshot_due(stream)
        if state is not None:
            task = asyncio.create_task(self._save(stream, state))
            self._saving.add(task)
            task.add_done_callback(self._saving.discard)

    async def _save(self, stream: Stream, state: SessionState) -> None:
        try:
            await self._states.save_snapshot(stream, state)
        except LedgerError as fault:
            log.warning("a snapshot was not written: %s", fault.code)


async def _decided(state: SessionState, commands_for: CommandsFor, expected_version: int | None) -> list[Event]:
    if expected_version is not None and expected_version != state.version:
        raise VersionConflict(current=state.version, expected=expected_version)
    return [event for command in await commands_for(state) for event in decide(state, command)]


def _digest(config: JsonObject) -> bytes:
    return sha256(canonical_json(config)).digest()
