"""Read, decide, append: a change of records becomes events, also while others write to the same stream."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from operator import attrgetter
from uuid import UUID
from weakref import WeakValueDictionary

import msgspec

from ledger.events import NewEvent, RecordedEvent, RecordEvent, to_microseconds
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.item_history import read_item_events
from ledger.indexes.record_index import RecordIndexes
from ledger.long_term_memory.change_queue import ChangeQueue, Decided, DecideRecords, Outcome, RecordChange
from ledger.long_term_memory.record_decisions import KnownRecords, Promotion, promote
from ledger.long_term_memory.record_drafts import placed
from ledger.ports import AppendRequest, Clock, Store, StreamWrite
from ledger.ports.contention import until_uncontended
from ledger.ports.event_encoding import new_event
from ledger.ports.record_store import RecordBuilds, RecordLookup, StoredRecord
from projections.records.records import RECORDS, Record, fold, identity
from projections.values.ranges import ranges_of


def records_stream(namespace: str, user_id: str | None) -> Stream:
    """Return the stream of a user's records, whose name no session may have (trust R-1, N-3)."""
    return Stream.of(namespace, RECORDS, user_id)


class RecordWriter:
    """Writes to streams of records; writers of this process share a batch, those of others decide again."""

    def __init__(self, store: Store, clock: Clock, indexes: RecordIndexes, *, actor: str = "") -> None:
        self._store = store
        self._indexes = indexes
        self._clock = clock
        self._actor = actor
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._queue = ChangeQueue(self._execute)

    def of(self, actor: str) -> "RecordWriter":
        """Return a writer for *actor* that shares batches and locks with this one."""
        other = copy(self)
        other._actor = actor  # noqa: SLF001 - a class may build its own kind
        return other

    async def write(self, streams: Sequence[Stream], lookup: RecordLookup, decide: DecideRecords) -> list[Decided]:
        """Decide for each of *streams*, all of one namespace, and append all at once; return what was written.

        *decide* gets the records of a stream that *lookup* selects. Changes of the same streams that wait for others
        are appended together.

        Raises:
            Unavailable: other writers were always first, or the store could not be reached.
        """
        return await self._queue.put(RecordChange(tuple(streams), lookup, decide, self._actor))

    async def _execute(self, changes: Sequence[RecordChange]) -> list[Outcome]:
        """Append the events of *changes*, all of the same streams, at once, as if they came one after the other."""
        streams = changes[0].streams

        async def attempt(number: int) -> list[Outcome]:
            drafts = await self._drafts(streams, _together(change.lookup for change in changes))
            outcomes = [self._outcome(drafts, change) for change in changes]
            writes = tuple(draft.write() for draft in drafts.values() if draft.events)
            if writes:
                await self._store.events.append(AppendRequest(writes=writes))
            return outcomes

        async with AsyncExitStack() as locks:
            for lock in self._locks_of(streams):
                await locks.enter_async_context(lock)
            return await until_uncontended(attempt)

    def _outcome(self, drafts: Mapping[Stream, "_StreamDraft"], change: RecordChange) -> Outcome:
        """Decide on *change* and add its events to *drafts*; nothing is added if it cannot be decided on."""
        try:
            decided = [
                Decided(stream, tuple(change.decide(stream, _selected(drafts[stream].known, change.lookup))))
                for stream in change.streams
            ]
            now_us = to_microseconds(self._clock.now())
            encoded = [
                [new_event(event, self._clock, change.actor, now_us=now_us) for event in each.events]
                for each in decided
            ]
        except Exception as fault:  # noqa: BLE001 - told to who asked for the change; the others go on
            return fault
        for each, events in zip(decided, encoded, strict=True):
            drafts[each.stream].add(each.events, events)
        return [each for each in decided if each.events]

    async def writes_for_promotion(
        self, session: Stream, promotions: Sequence[Promotion], *, write_id: str
    ) -> list[StreamWrite]:
        """Return the writes that make records of a session's memories, to append with the session's own events.

        A record belongs to the user that the memory names, else to the session's user. Its namespace is the session's,
        because one append has one namespace. After a `VersionConflict`, call this again. Source: http W-48, W-49.
        """
        by_stream: dict[Stream, list[Promotion]] = {}
        for promotion in promotions:
            user_id = promotion.fields.user_id if promotion.fields.user_id is not None else session.user_id
            stream = records_stream(session.namespace, user_id)
            own = msgspec.structs.replace(promotion, fields=placed(promotion.fields, stream))
            by_stream.setdefault(stream, []).append(own)
        ids = [name for each in promotions for name in (each.record_id, each.id_if_taken) if name is not None]
        lookup = RecordLookup(record_ids=tuple(dict.fromkeys(ids)))
        drafts = await self._drafts(list(by_stream), lookup)

        def promoted(stream: Stream, known: KnownRecords) -> list[RecordEvent]:
            return promote(known, by_stream[stream], write_id=write_id)

        outcome = self._outcome(drafts, RecordChange(tuple(by_stream), lookup, promoted, self._actor))
        if isinstance(outcome, Exception):
            raise outcome
        return [draft.write() for draft in drafts.values() if draft.events]

    def _locks_of(self, streams: Sequence[Stream]) -> list[asyncio.Lock]:
        """Return the locks of *streams*, always in the same order."""
        ids = sorted({stream.stream_id for stream in streams})
        return [self._locks.get(item_id) or self._locks.setdefault(item_id, asyncio.Lock()) for item_id in ids]

    async def _drafts(self, streams: Sequence[Stream], lookup: RecordLookup) -> dict[Stream, "_StreamDraft"]:
        # read the heads first: a record that is newer than its head makes the append fail, which is tried again
        heads = [(stream, (await self._store.events.head(stream))[0]) for stream in streams]
        known = await self._known(streams, lookup)
        return {stream: _StreamDraft(stream, head, known[stream]) for stream, head in heads}

    async def _known(self, streams: Sequence[Stream], lookup: RecordLookup) -> dict[Stream, dict[str, Record]]:
        own = msgspec.structs.replace(lookup, streams=tuple(stream.stream_id for stream in streams))

        async def read(builds: RecordBuilds, names: object) -> list[StoredRecord]:
            return await self._store.records.find(builds, own)

        namespaces = list({stream.namespace_id for stream in streams})
        known: dict[Stream, dict[str, Record]] = {stream: {} for stream in streams}
        by_id = {stream.stream_id: stream for stream in streams}
        for stored in await self._indexes.read(namespaces, read):
            known[by_id[stored.stream_id]][stored.record.record_id] = stored.record
        return {stream: await self.proved(stream, found) for stream, found in known.items()}

    async def proved(self, stream: Stream, found: Mapping[str, Record]) -> dict[str, Record]:
        """Return the records as their own events say, because anybody who can write rows could have changed a row.

        The rows only say which records there are, and which events merged them into others. Source: trust K-1.
        """
        if not found:
            return {}
        about = await read_item_events(self._store, stream, list(found))
        known = {event.version for event in about}
        merges = {version for record in found.values() for version in record.merges} - known
        if merges:
            about += await self._store.events.read_versions(stream, ranges_of(sorted(merges)))
            about.sort(key=attrgetter("version"))
        proved = fold(map(decode, about))
        return {record_id: proved[record_id] for record_id in found if record_id in proved}


class _StreamDraft:
    """Events to append to a stream after version *head*, and its *known* records as they are after these events."""

    def __init__(self, stream: Stream, head: int, known: Mapping[str, Record]) -> None:
        self._stream = stream
        self._head = head
        self.known = known
        self.events: list[NewEvent] = []

    def add(self, decided: Iterable[RecordEvent], encoded: Sequence[NewEvent]) -> None:
        """Add events, and what they change."""
        first = self._head + len(self.events) + 1
        stored = [
            RecordedEvent(version, 0, new.event_id, new.occurred_us, new.occurred_us, new.actor, event)
            for version, (event, new) in enumerate(zip(decided, encoded, strict=True), first)
        ]
        self.known = fold(stored, self.known)
        self.events += encoded

    def write(self) -> StreamWrite:
        """Return the events as a write that fails if the stream is no longer at its head."""
        return StreamWrite(stream=self._stream, events=tuple(self.events), expected_version=self._head)


def _together(lookups: Iterable[RecordLookup]) -> RecordLookup:
    """Return the look-up of all that *lookups* select."""
    ids: dict[str, None] = {}
    identities: dict[bytes, None] = {}
    for lookup in lookups:
        ids |= dict.fromkeys(lookup.record_ids)
        identities |= dict.fromkeys(lookup.identities)
    return RecordLookup(record_ids=tuple(ids), identities=tuple(identities))


def _selected(known: KnownRecords, lookup: RecordLookup) -> dict[str, Record]:
    """Return those of *known* that *lookup* selects."""
    ids, identities = set(lookup.record_ids), set(lookup.identities)
    return {
        record_id: record
        for record_id, record in known.items()
        if record_id in ids or (record.live and identities and identity(record.fields) in identities)
    }


def streams_by_namespace(stored: Sequence[tuple[StoredRecord, str]]) -> list[list[Stream]]:
    """Return the streams of *stored*, grouped by namespace."""
    found: dict[str, dict[Stream, None]] = {}
    for record, name in stored:
        found.setdefault(name, {})[records_stream(name, record.user_id)] = None
    return [list(streams) for streams in found.values()]
