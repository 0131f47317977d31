"""Read, decide, append: a change of records becomes events, also while others write to the same stream."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from operator import attrgetter
from typing import TypeAlias
from uuid import UUID
from weakref import WeakValueDictionary

import msgspec

from ledger.codec import decode
from ledger.contention import until_uncontended
from ledger.event_encoding import stream_write
from ledger.events import RecordEvent
from ledger.history.items import read_item_events
from ledger.ids import Stream
from ledger.long_term_memory.decisions import KnownRecords, Promotion, promote
from ledger.long_term_memory.drafts import placed
from ledger.long_term_memory.record_index import RecordIndexes
from ledger.ports import AppendRequest, Clock, Store, StreamWrite
from ledger.ports.records import RecordBuilds, RecordLookup, StoredRecord
from projections.ranges import ranges_of
from projections.records import RECORDS, Record, fold

#: Returns the events for the stored records of a stream; called again if another writer was first.
DecideRecords: TypeAlias = Callable[[Stream, KnownRecords], Sequence[RecordEvent]]


def records_stream(namespace: str, user_id: str | None) -> Stream:
    """Return the stream of a user's records, whose name no session may have (trust R-1, N-3)."""
    return Stream.of(namespace, RECORDS, user_id)


class Decided(msgspec.Struct, frozen=True):
    """A write that can be appended at exactly the version it was decided on, and its events."""

    write: StreamWrite
    events: tuple[RecordEvent, ...]


class RecordWriter:
    """Writes to streams of records; writers of this process wait for each other, others decide again."""

    def __init__(self, store: Store, clock: Clock, indexes: RecordIndexes, *, actor: str = "") -> None:
        self._store = store
        self._indexes = indexes
        self._clock = clock
        self._actor = actor
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    def of(self, actor: str) -> "RecordWriter":
        """Return a writer for *actor* that shares its locks with this one."""
        other = copy(self)
        other._actor = actor  # noqa: SLF001 - a class may build its own kind
        return other

    async def write(self, streams: Sequence[Stream], lookup: RecordLookup, decide: DecideRecords) -> list[Decided]:
        """Decide for each of *streams*, all of one namespace, and append all at once; return what was written.

        *decide* gets the records of a stream that *lookup* selects.

        Raises:
            Unavailable: other writers were always first, or the store could not be reached.
        """

        async def attempt(number: int) -> list[Decided]:
            decided = await self.decided(streams, lookup, decide)
            if decided:
                await self._store.events.append(AppendRequest(writes=tuple(item.write for item in decided)))
            return decided

        async with AsyncExitStack() as locks:
            for lock in self._locks_of(streams):
                await locks.enter_async_context(lock)
            return await until_uncontended(attempt)

    async def decided(self, streams: Sequence[Stream], lookup: RecordLookup, decide: DecideRecords) -> list[Decided]:
        """Return the writes to *streams*, all of one namespace; streams without a change are left out."""
        # read the heads first: a record that is newer than its head makes the append fail, which is tried again
        heads = [(stream, (await self._store.events.head(stream))[0]) for stream in streams]
        known = await self._known(streams, lookup)
        decided: list[Decided] = []
        for stream, head in heads:
            events = tuple(decide(stream, known[stream]))
            if events:
                write = stream_write(stream, events, expected_version=head, clock=self._clock, actor=self._actor)
                decided.append(Decided(write, events))
        return decided

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
        decided = await self.decided(
            list(by_stream), lookup, lambda stream, known: promote(known, by_stream[stream], write_id=write_id)
        )
        return [item.write for item in decided]

    def _locks_of(self, streams: Sequence[Stream]) -> list[asyncio.Lock]:
        """Return the locks of *streams*, always in the same order."""
        ids = sorted({stream.stream_id for stream in streams})
        return [self._locks.get(item_id) or self._locks.setdefault(item_id, asyncio.Lock()) for item_id in ids]

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
