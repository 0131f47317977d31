"""The base of event stores that add something to another one, such as quotas or tracing."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from ledger.events import Ranges, StoredEvent
from ledger.events.ids import Stream
from ledger.ports.append_request import Appended, AppendRequest, EarlierRequest
from ledger.ports.event_store import (
    ANY_SIZE,
    EventStore,
    LogBounds,
    NamespaceInfo,
    SchemaDifference,
    SessionLocation,
    StreamHead,
)


class EventStoreDecorator:
    """An `EventStore` that passes every call on to *events*; subclasses override methods."""

    def __init__(self, events: EventStore) -> None:
        self._events = events

    async def append(self, request: AppendRequest) -> Appended:
        return await self._events.append(request)

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        return await self._events.append_all(requests)

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        return await self._events.find_request(stream, request_id)

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        return await self._events.prune_requests(namespace_id, days=days)

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        return await self._events.read_stream(stream, after=after, until=until, limit=limit)

    async def read_page(self, stream: Stream, after: int, until: int, limit: int, most_bytes: int) -> list[StoredEvent]:
        return await self._events.read_page(stream, after=after, until=until, limit=limit, most_bytes=most_bytes)

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        return await self._events.read_versions(stream, wanted)

    async def read_newest(
        self, stream: Stream, *, limit: int, until: int | None = None, without: Sequence[str] = ()
    ) -> tuple[int, list[StoredEvent]]:
        return await self._events.read_newest(stream, limit=limit, until=until, without=without)

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        return await self._events.find_items(stream, item_ids)

    async def find_types(
        self,
        stream: Stream,
        types: Sequence[str],
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[int]:
        """See `ports.event_store.EventStore.find_types`."""
        return await self._events.find_types(stream, types, after=after, until=until, limit=limit)

    async def find_versions(
        self, stream: Stream, *, after: int, until: int, types: Sequence[str] | None = None, actor: str | None = None
    ) -> list[int]:
        return await self._events.find_versions(stream, after=after, until=until, types=types, actor=actor)

    async def find_newest(self, stream: Stream, type: str, *, until: int | None = None) -> int:
        """See `ports.event_store.EventStore.find_newest`."""
        return await self._events.find_newest(stream, type, until=until)

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
        """See `ports.event_store.EventStore.read_kept`."""
        return await self._events.read_kept(
            stream,
            first=first,
            end=end,
            after=after,
            until=until,
            greatest_first=greatest_first,
            limit=limit,
            every=every,
        )

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        return await self._events.head(stream)

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        return await self._events.lineage(stream)

    async def family(self, stream: Stream, *, limit: int) -> list[StreamHead]:
        return await self._events.family(stream, limit=limit)

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        return await self._events.version_at(stream, moment)

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        return await self._events.named(namespace_id, stream_ids)

    async def first_events(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> list[StoredEvent]:
        return await self._events.first_events(namespace_id, stream_ids)

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[SessionLocation]:
        return await self._events.find_sessions(namespace_ids, session_id, user_id=user_id)

    async def read_namespace(
        self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000, most_bytes: int = ANY_SIZE
    ) -> list[StoredEvent]:
        return await self._events.read_namespace(namespace_id, after=after, limit=limit, most_bytes=most_bytes)

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        return await self._events.namespace(namespace_id)

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        return await self._events.namespaces(namespace_ids)

    async def namespace_ids(self) -> list[UUID]:
        return await self._events.namespace_ids()

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        return await self._events.overview(namespace_id)

    async def bounds(self, namespace_id: UUID) -> LogBounds:
        return await self._events.bounds(namespace_id)

    async def schema_differences(self) -> list[SchemaDifference]:
        return await self._events.schema_differences()
