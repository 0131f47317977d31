"""The reference store: what `ports` promises, with nothing in the way. Read it to know the semantics."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID, uuid5

import msgspec

from ledger.chain import ZERO_HASH, place
from ledger.clock import SystemClock
from ledger.errors import (
    IdempotencyMismatch,
    InvalidInput,
    LedgerError,
    StreamNameMismatch,
    VersionConflict,
    VersionNotFound,
)
from ledger.events import Ranges, StoredEvent, to_microseconds
from ledger.ids import Stream
from ledger.limits import EVENTS_PER_APPEND
from ledger.ports import Appended, AppendRequest, Clock, EarlierRequest, NamespaceInfo, Receipt, StreamHead, StreamWrite
from ledger.ports.indexes import Checkpoint, IndexedSession, Snapshot
from ledger.session.put import ServedView
from ledger.stores.in_memory_indexes import InMemoryIndexes
from ledger.stores.in_memory_jobs import InMemoryJobs
from ledger.stores.in_memory_records import InMemoryRecords
from ledger.stores.in_memory_search import InMemorySearch
from ledger.stores.in_memory_serving import InMemoryServing


class _Space:
    """One namespace: its log in position order, and its streams as positions."""

    def __init__(self, name: str, namespace_id: UUID) -> None:
        self.info = NamespaceInfo(name, uuid5(namespace_id, "in memory"), 0)
        self.log: list[StoredEvent] = []
        self.names: dict[UUID, Stream] = {}
        self.streams: dict[UUID, list[StoredEvent]] = {}
        self.parents: dict[UUID, tuple[UUID, int]] = {}
        self.requests: dict[tuple[UUID, UUID], tuple[bytes, Appended]] = {}
        self.snapshots: dict[tuple[UUID, str, int], dict[int, Snapshot]] = {}
        self.checkpoints: dict[tuple[str, int], Checkpoint] = {}
        self.index: dict[int, dict[UUID, IndexedSession]] = {}
        self.ended: dict[UUID, bool] = {}
        self.views: dict[UUID, dict[ServedView, datetime]] = {}

    def history(self, stream_id: UUID) -> list[StoredEvent]:
        """Return the events of a stream, those of its parents up to where it was forked before its own."""
        own = self.streams.get(stream_id, [])
        if stream_id not in self.parents:
            return own
        parent_id, version = self.parents[stream_id]
        return self.history(parent_id)[:version] + own

    def head(self, stream_id: UUID) -> StreamHead:
        """Return the head of a stream."""
        stream, newest = self.names[stream_id], self.streams[stream_id][-1]
        parent_id, parent_version = self.parents.get(stream_id, (None, None))
        return StreamHead(
            stream_id, stream.user_id, stream.session_id, newest.version, newest.hash, parent_id, parent_version
        )


class InMemoryStore:
    """A `Store` that lasts as long as its process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._spaces: dict[UUID, _Space] = {}
        indexes = InMemoryIndexes(self._spaces, self._clock)
        self.load_snapshot = indexes.load_snapshot
        self.save_snapshot = indexes.save_snapshot
        self.projection_progress = indexes.projection_progress
        self.progress_of_all = indexes.progress_of_all
        self.begin_build = indexes.begin_build
        self.go_live = indexes.go_live
        self.index_progress = indexes.index_progress
        self.save_index = indexes.save_index
        self.prune_index = indexes.prune_index
        self.list_index = indexes.list_index
        self.live_index = indexes.live_index
        searching = InMemorySearch(self._spaces, self._clock)
        self.index_pieces = searching.index_pieces
        self.prune_pieces = searching.prune_pieces
        self.search = searching.search
        self.findable = searching.findable
        self.embeds = searching.embeds
        self.pieces_to_embed = searching.pieces_to_embed
        self.save_embeddings = searching.save_embeddings
        self.search_similar = searching.search_similar
        serving = InMemoryServing(self._spaces)
        self.find_sessions = serving.find_sessions
        self.note_view = serving.note_view
        self.served_views = serving.served_views
        jobs = InMemoryJobs(self._spaces, self._clock)
        self.changed_sessions = jobs.changed_sessions
        self.save_jobs = jobs.save_jobs
        self.prune_jobs = jobs.prune_jobs
        self.spaces_with_due_jobs = jobs.spaces_with_due_jobs
        self.claim_jobs = jobs.claim_jobs
        self.renew_job = jobs.renew_job
        self.leave_job = jobs.leave_job
        self.list_jobs = jobs.list_jobs
        self.revive_jobs = jobs.revive_jobs
        records = InMemoryRecords(self._spaces, self._clock)
        self.record_events = records.record_events
        self.save_records = records.save_records
        self.prune_records = records.prune_records
        self.record_spaces = records.record_spaces
        self.find_records = records.find_records
        self.duplicate_records = records.duplicate_records
        self.search_records = records.search_records
        self.touch_records = records.touch_records
        self.seed_accesses = records.seed_accesses
        self.embeds_records = records.embeds_records
        self.records_to_embed = records.records_to_embed
        self.save_record_embeddings = records.save_record_embeddings

    async def append(self, request: AppendRequest) -> Appended:
        """See `ports.Appender.append`."""
        return self._append_all([request])[0]

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        """See `ports.Appender.append_all`; nothing is awaited, so nobody sees the middle."""
        return sum(len(appended.receipts) for appended in self._append_all(list(requests)))

    def _append_all(self, requests: Sequence[AppendRequest]) -> list[Appended]:
        if not any(write.events for request in requests for write in request.writes):
            return [Appended(()) for _ in requests]
        stream = requests[0].writes[0].stream
        space = self._spaces.get(stream.namespace_id) or _Space(stream.namespace, stream.namespace_id)
        recorded_us = to_microseconds(self._clock.now())
        length, known = len(space.log), set(space.requests)
        try:
            appended = [self._append(space, request, recorded_us) for request in requests]
        except LedgerError:
            self._undo(space, length, known)
            raise
        self._spaces[stream.namespace_id] = space
        return appended

    def _undo(self, space: _Space, length: int, known: set[tuple[UUID, UUID]]) -> None:
        for event in reversed(space.log[length:]):
            space.streams[event.stream_id].pop()
            if not space.streams[event.stream_id]:
                del space.streams[event.stream_id], space.names[event.stream_id]
                space.parents.pop(event.stream_id, None)
        del space.log[length:]
        for request in set(space.requests) - known:
            del space.requests[request]

    def _append(self, space: _Space, request: AppendRequest, recorded_us: int) -> Appended:
        anchor = min((write.stream.stream_id for write in request.writes), default=None)
        if request.request_id is not None and anchor is not None:
            earlier = space.requests.get((anchor, request.request_id))
            if earlier is not None:
                if earlier[0] != request.request_hash:
                    raise IdempotencyMismatch
                return msgspec.structs.replace(earlier[1], replayed=True)
        for write in request.writes:
            refusal = self._refusal(space, write)
            if refusal is not None:
                raise refusal
        if sum(len(write.events) for write in request.writes) > EVENTS_PER_APPEND:
            raise InvalidInput(
                "batch_size", f"at most {EVENTS_PER_APPEND} events in one append", limit=EVENTS_PER_APPEND
            )
        receipts = [receipt for write in request.writes for receipt in self._write(space, write, recorded_us)]
        appended = Appended(tuple(receipts))
        if request.request_id is not None and request.request_hash is not None and anchor is not None and receipts:
            space.requests[anchor, request.request_id] = (request.request_hash, appended)
        return appended

    def _refusal(self, space: _Space, write: StreamWrite) -> LedgerError | None:
        known = space.names.get(write.stream.stream_id, write.stream)
        if (known.user_id, known.session_id) != (write.stream.user_id, write.stream.session_id):
            return StreamNameMismatch()
        current = len(space.history(write.stream.stream_id))
        expected = 0 if write.forked_from else write.expected_version
        if expected is not None and expected != current:
            return VersionConflict(current=current, expected=expected)
        if write.forked_from is not None:
            parent, version = write.forked_from
            if not 1 <= version <= len(space.history(parent.stream_id)):
                return VersionNotFound("the session to fork has no such version; read which it has")
        return None

    def _write(self, space: _Space, write: StreamWrite, recorded_us: int) -> list[Receipt]:
        if not write.events:
            return []
        space.names.setdefault(write.stream.stream_id, write.stream)
        if write.ended is not None:
            space.ended[write.stream.stream_id] = write.ended
        if write.forked_from is not None:
            parent, version = write.forked_from
            space.parents[write.stream.stream_id] = (parent.stream_id, version)
        events = space.streams.setdefault(write.stream.stream_id, [])
        history = space.history(write.stream.stream_id)
        version, last = len(history), history[-1].hash if history else ZERO_HASH
        receipts = []
        for new in write.events:
            stored = place(
                new,
                namespace_id=write.stream.namespace_id,
                stream_id=write.stream.stream_id,
                version=version + 1,
                position=len(space.log) + 1,
                recorded_us=recorded_us,
                previous_hash=last,
            )
            version, last = stored.version, stored.hash
            events.append(stored)
            space.log.append(stored)
            receipts.append(
                Receipt(
                    stored.stream_id,
                    stored.version,
                    stored.position,
                    stored.event_id,
                    stored.recorded_us,
                    stored.hash,
                )
            )
        return receipts

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        """See `ports.RequestFinder.find_request`."""
        space = self._spaces.get(stream.namespace_id)
        found = space.requests.get((stream.stream_id, request_id)) if space else None
        return EarlierRequest(found[0], found[1].receipts) if found else None

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        """See `ports.StreamReader.read_stream`."""
        events = self._events(stream)[after:until]
        return events[:limit]

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        """See `ports.StreamReader.read_versions`."""
        events = self._events(stream)
        return [event for first, last in wanted for event in events[first - 1 : last]]

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        """See `ports.StreamReader.find_items`."""
        wanted = set(item_ids)
        found: dict[str, list[int]] = {}
        for event in self._events(stream):
            if event.item_id in wanted and event.item_id is not None:
                found.setdefault(event.item_id, []).append(event.version)
        return found

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        """See `ports.StreamLocator.head`."""
        events = self._events(stream)
        return (events[-1].version, events[-1].hash) if events else (0, ZERO_HASH)

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        """See `ports.StreamLocator.lineage`."""
        space = self._spaces.get(stream.namespace_id)
        if space is None or stream.stream_id not in space.streams:
            return []
        heads = [space.head(stream.stream_id)]
        while (parent_id := heads[-1].parent_id) is not None:
            heads.append(space.head(parent_id))
        return heads

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        """See `ports.StreamLocator.version_at`."""
        at = to_microseconds(moment)
        return max((event.version for event in self._events(stream) if event.recorded_us <= at), default=0)

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        """See `ports.StreamLocator.named`."""
        names = self._spaces[namespace_id].names if namespace_id in self._spaces else {}
        return {each: (names[each].user_id, names[each].session_id) for each in stream_ids if each in names}

    async def read_namespace(self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000) -> list[StoredEvent]:
        """See `ports.NamespaceReader.read_namespace`."""
        space = self._spaces.get(namespace_id)
        return space.log[after : after + limit] if space else []

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        """See `ports.NamespaceReader.namespace`."""
        space = self._spaces.get(namespace_id)
        return msgspec.structs.replace(space.info, last_position=len(space.log)) if space else None

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        """See `ports.NamespaceReader.namespaces`."""
        found = {each: await self.namespace(each) for each in namespace_ids}
        return {each: info for each, info in found.items() if info is not None}

    async def namespace_ids(self) -> list[UUID]:
        """See `ports.NamespaceReader.namespace_ids`."""
        return sorted(self._spaces)

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        """See `ports.NamespaceReader.overview`."""
        info = await self.namespace(namespace_id)
        if info is None:
            return None
        space = self._spaces[namespace_id]
        return info, [space.head(stream_id) for stream_id in sorted(space.streams)]

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        """See `job_ports.Housekeeping.prune_requests`; nothing here grows as old."""
        return 0

    async def close(self) -> None:
        """See `ports.Store.close`."""

    def _events(self, stream: Stream) -> list[StoredEvent]:
        space = self._spaces.get(stream.namespace_id)
        return space.history(stream.stream_id) if space else []
