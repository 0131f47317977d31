"""The base of event stores that add something to another one, such as counting what is appended."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from ledger.events import Ranges, StoredEvent
from ledger.ids import Stream
from ledger.ports.event_store import (
    Appended,
    AppendRequest,
    EarlierRequest,
    EventStore,
    NamespaceInfo,
    SessionLocation,
    StreamHead,
)


class EventStoreDecorator:
    """An `EventStore` that does what *events* does; subclasses override what they add to."""

    def __init__(self, events: EventStore) -> None:
        self._events = events

    async def append(self, request: AppendRequest) -> Appended:
        """See `ports.event_store.EventStore.append`."""
        return await self._events.append(request)

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        """See `ports.event_store.EventStore.append_all`."""
        return await self._events.append_all(requests)

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        """See `ports.event_store.EventStore.find_request`."""
        return await self._events.find_request(stream, request_id)

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        """See `ports.event_store.EventStore.prune_requests`."""
        return await self._events.prune_requests(namespace_id, days=days)

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        """See `ports.event_store.EventStore.read_stream`."""
        return await self._events.read_stream(stream, after=after, until=until, limit=limit)

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        """See `ports.event_store.EventStore.read_versions`."""
        return await self._events.read_versions(stream, wanted)

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        """See `ports.event_store.EventStore.find_items`."""
        return await self._events.find_items(stream, item_ids)

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        """See `ports.event_store.EventStore.head`."""
        return await self._events.head(stream)

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        """See `ports.event_store.EventStore.lineage`."""
        return await self._events.lineage(stream)

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        """See `ports.event_store.EventStore.version_at`."""
        return await self._events.version_at(stream, moment)

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        """See `ports.event_store.EventStore.named`."""
        return await self._events.named(namespace_id, stream_ids)

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[SessionLocation]:
        """See `ports.event_store.EventStore.find_sessions`."""
        return await self._events.find_sessions(namespace_ids, session_id, user_id=user_id)

    async def read_namespace(self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000) -> list[StoredEvent]:
        """See `ports.event_store.EventStore.read_namespace`."""
        return await self._events.read_namespace(namespace_id, after=after, limit=limit)

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        """See `ports.event_store.EventStore.namespace`."""
        return await self._events.namespace(namespace_id)

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        """See `ports.event_store.EventStore.namespaces`."""
        return await self._events.namespaces(namespace_ids)

    async def namespace_ids(self) -> list[UUID]:
        """See `ports.event_store.EventStore.namespace_ids`."""
        return await self._events.namespace_ids()

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        """See `ports.event_store.EventStore.overview`."""
        return await self._events.overview(namespace_id)
