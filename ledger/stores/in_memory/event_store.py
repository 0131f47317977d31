"""The in-memory event store. Read it to learn the semantics without a database in the way."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate, islice
from uuid import UUID

import msgspec

from ledger.errors import (
    IdempotencyMismatch,
    InvalidInput,
    LedgerError,
)
from ledger.events import (
    KeptRemoved,
    KeptSet,
    Ranges,
    StoredEvent,
    to_microseconds,
)
from ledger.events.chain import ZERO_HASH, place
from ledger.events.ids import Stream
from ledger.events.limits import EVENTS_PER_APPEND
from ledger.ports import Appended, AppendRequest, Clock, EarlierRequest, NamespaceInfo, Receipt, StreamHead, StreamWrite
from ledger.ports.event_store import ANY_SIZE, LogBounds, SchemaDifference, SessionLocation, in_order_of_keys
from ledger.stores.in_memory.namespace_rows import StoredNamespace


class InMemoryEventStore:
    """See `ports.event_store.EventStore`."""

    def __init__(self, namespaces: dict[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock

    async def append(self, request: AppendRequest) -> Appended:
        return self._append_all([request])[0]

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        # nothing is awaited, so no reader sees a part of it
        return sum(len(appended.receipts) for appended in self._append_all(list(requests)))

    def _append_all(self, requests: Sequence[AppendRequest]) -> list[Appended]:
        if not any(write.events for request in requests for write in request.writes):
            return [Appended(()) for _ in requests]
        stream = requests[0].writes[0].stream
        namespace = self._namespaces.get(stream.namespace_id) or StoredNamespace(stream.namespace, stream.namespace_id)
        recorded_us = to_microseconds(self._clock.now())
        length, known = len(namespace.log), set(namespace.requests)
        try:
            appended = [self._append(namespace, request, recorded_us) for request in requests]
        except LedgerError:
            namespace.take_back(length, known)
            raise
        self._namespaces[stream.namespace_id] = namespace
        return appended

    def _append(self, namespace: StoredNamespace, request: AppendRequest, recorded_us: int) -> Appended:
        anchor = min((write.stream.stream_id for write in request.writes), default=None)
        if request.request_id is not None and anchor is not None:
            earlier = namespace.requests.get((anchor, request.request_id))
            if earlier is not None:
                if earlier[0] != request.request_hash:
                    raise IdempotencyMismatch
                return msgspec.structs.replace(earlier[1], replayed=True)
        for write in request.writes:
            refusal = namespace.refusal(write, recorded_us)
            if refusal is not None:
                raise refusal
        if sum(len(write.events) for write in request.writes) > EVENTS_PER_APPEND:
            raise InvalidInput(
                "batch_size", f"at most {EVENTS_PER_APPEND} events in one append", limit=EVENTS_PER_APPEND
            )
        receipts = [receipt for write in request.writes for receipt in self._write(namespace, write, recorded_us)]
        appended = Appended(tuple(receipts))
        if request.request_id is not None and request.request_hash is not None and anchor is not None and receipts:
            namespace.requests[anchor, request.request_id] = (request.request_hash, appended)
        return appended

    def _write(self, namespace: StoredNamespace, write: StreamWrite, recorded_us: int) -> list[Receipt]:
        if not write.events:
            return []
        namespace.names.setdefault(write.stream.stream_id, write.stream)
        if write.forked_from is not None:
            parent, version = write.forked_from
            namespace.parents[write.stream.stream_id] = (parent.stream_id, version)
        events = namespace.streams.setdefault(write.stream.stream_id, [])
        history = namespace.history(write.stream.stream_id)
        version, last = len(history), history[-1].hash if history else ZERO_HASH
        receipts = []
        for new in write.events:
            stored = place(
                new,
                namespace_id=write.stream.namespace_id,
                stream_id=write.stream.stream_id,
                version=version + 1,
                position=len(namespace.log) + 1,
                recorded_us=recorded_us,
                previous_hash=last,
            )
            version, last = stored.version, stored.hash
            events.append(stored)
            namespace.log.append(stored)
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
        namespace = self._namespaces.get(stream.namespace_id)
        found = namespace.requests.get((stream.stream_id, request_id)) if namespace else None
        return EarlierRequest(found[0], found[1].receipts) if found else None

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        events = self._events(stream)[after:until]
        return events[:limit]

    async def read_page(self, stream: Stream, after: int, until: int, limit: int, most_bytes: int) -> list[StoredEvent]:
        return _up_to(self._events(stream)[after:until][:limit], most_bytes)

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        events = self._events(stream)
        return [event for first, last in wanted for event in events[first - 1 : last]]

    async def read_newest(
        self, stream: Stream, *, limit: int, until: int | None = None, without: Sequence[str] = ()
    ) -> tuple[int, list[StoredEvent]]:
        events = self._events(stream)[:until]
        wanted = islice((event for event in reversed(events) if event.type not in without), limit)
        return events[-1].version if events else 0, list(wanted)[::-1]

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        wanted = set(item_ids)
        found: dict[str, list[int]] = {}
        for event in self._events(stream):
            if event.item_id in wanted and event.item_id is not None:
                found.setdefault(event.item_id, []).append(event.version)
        return found

    async def find_types(
        self,
        stream: Stream,
        types: Sequence[str],
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[int]:
        return [event.version for event in self._events(stream)[after:until] if event.type in types][:limit]

    async def find_versions(
        self, stream: Stream, *, after: int, until: int, types: Sequence[str] | None = None, actor: str | None = None
    ) -> list[int]:
        return [
            event.version
            for event in self._events(stream)[after:until]
            if (types is None or event.type in types) and actor in {None, event.actor}
        ]

    async def find_newest(self, stream: Stream, type: str, *, until: int | None = None) -> int:
        events = self._events(stream)[:until]
        return max((event.version for event in events if event.type == type and event.item_id is None), default=0)

    async def read_kept(
        self,
        stream: Stream,
        *,
        first: str,
        end: str,
        after: int = 0,
        until: int | None = None,
        greatest_first: bool = False,
        limit: int | None = None,
        every: bool = False,
    ) -> list[StoredEvent]:
        events = [
            event
            for event in self._events(stream)[after:until]
            if event.type in {KeptSet.type, KeptRemoved.type} and first <= (event.item_id or "") < end
        ]
        return in_order_of_keys(events, greatest_first=greatest_first, every=every)[:limit]

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        events = self._events(stream)
        return (events[-1].version, events[-1].hash) if events else (0, ZERO_HASH)

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        namespace = self._namespaces.get(stream.namespace_id)
        if namespace is None or stream.stream_id not in namespace.streams:
            return []
        heads = [namespace.head(stream.stream_id)]
        while (parent_id := heads[-1].parent_id) is not None:
            heads.append(namespace.head(parent_id))
        return heads

    async def family(self, stream: Stream, *, limit: int) -> list[StreamHead]:
        namespace = self._namespaces.get(stream.namespace_id)
        if namespace is None or stream.stream_id not in namespace.streams:
            return []
        heads = [namespace.head(stream.stream_id)]
        for head in heads:  # it grows meanwhile
            forks = (each for each, (parent_id, _) in namespace.parents.items() if parent_id == head.stream_id)
            heads += map(namespace.head, forks)
        return heads[:limit]

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        at = to_microseconds(moment)
        return max((event.version for event in self._events(stream) if event.recorded_us <= at), default=0)

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        names = self._namespaces[namespace_id].names if namespace_id in self._namespaces else {}
        return {each: (names[each].user_id, names[each].session_id) for each in stream_ids if each in names}

    async def first_events(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> list[StoredEvent]:
        streams = self._namespaces[namespace_id].streams if namespace_id in self._namespaces else {}
        return [streams[each][0] for each in stream_ids if streams.get(each)]

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[SessionLocation]:
        return [
            SessionLocation(namespace_id, stream.user_id)
            for namespace_id in namespace_ids
            if (namespace := self._namespaces.get(namespace_id)) is not None
            for stream in sorted(namespace.names.values(), key=lambda stream: stream.user_id)
            if stream.session_id == session_id and (user_id is None or stream.user_id == user_id)
        ]

    async def read_namespace(
        self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000, most_bytes: int = ANY_SIZE
    ) -> list[StoredEvent]:
        namespace = self._namespaces.get(namespace_id)
        page = namespace.log[after : after + limit] if namespace else []
        return _up_to(page, most_bytes)

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        namespace = self._namespaces.get(namespace_id)
        return msgspec.structs.replace(namespace.info, last_position=len(namespace.log)) if namespace else None

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        found = {each: await self.namespace(each) for each in namespace_ids}
        return {each: info for each, info in found.items() if info is not None}

    async def namespace_ids(self) -> list[UUID]:
        return sorted(self._namespaces)

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        info = await self.namespace(namespace_id)
        if info is None:
            return None
        namespace = self._namespaces[namespace_id]
        return info, [namespace.head(stream_id) for stream_id in sorted(namespace.streams)]

    async def bounds(self, namespace_id: UUID) -> LogBounds:
        namespace = self._namespaces.get(namespace_id)
        log = namespace.log if namespace else []
        return LogBounds(len(log), len(log), log[0].position if log else 0)

    async def schema_differences(self) -> list[SchemaDifference]:
        return []

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        return 0  # the process does not live long enough

    def _events(self, stream: Stream) -> list[StoredEvent]:
        namespace = self._namespaces.get(stream.namespace_id)
        return namespace.history(stream.stream_id) if namespace else []


def _up_to(page: Sequence[StoredEvent], most_bytes: int) -> list[StoredEvent]:
    before = accumulate((event.size_b for event in page), initial=0)
    return [event for event, size in zip(page, before, strict=False) if size < most_bytes]
