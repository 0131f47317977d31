"""Snapshots in memory."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from ledger.events import UndecodedEvent
from ledger.events.ids import Stream
from ledger.ports.event_store import EventStore
from ledger.ports.snapshot_store import NO_OTHERS, Snapshot
from ledger.stores.in_memory.namespace_rows import StoredNamespace


class InMemorySnapshots:
    """See `ports.snapshots.SnapshotStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], events: EventStore) -> None:
        self._namespaces = namespaces
        self._events = events

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        namespace = self._namespaces.get(stream.namespace_id)
        stored = namespace.snapshots.get((stream.stream_id, projection, projection_version), {}) if namespace else {}
        usable = [version for version in stored if at_most is None or version <= at_most]
        if usable or namespace is None or stream.stream_id not in namespace.parents:
            return stored[max(usable)] if usable else None
        parent_id, version = namespace.parents[stream.stream_id]
        last = version if at_most is None else min(version, at_most)
        return await self.load(namespace.names[parent_id], projection, projection_version, at_most=last)

    async def newest(
        self, namespace_id: UUID, stream_ids: Sequence[UUID], projection: str, projection_version: int
    ) -> dict[UUID, Snapshot | None]:
        namespace = self._namespaces[namespace_id]
        newest: dict[UUID, Snapshot | None] = {}
        for stream_id in stream_ids:
            if stream_id not in namespace.parents:
                found = namespace.snapshots.get((stream_id, projection, projection_version), {})
                newest[stream_id] = found[max(found)] if found else None
        return newest

    async def load_with_events(
        self,
        stream: Stream,
        projection: str,
        projection_version: int,
        *,
        at_most: int | None = None,
        before: int = 0,
        limit: int,
    ) -> tuple[Snapshot | None, Sequence[UndecodedEvent] | None]:
        snapshot = await self.load(stream, projection, projection_version, at_most=at_most)
        namespace = self._namespaces.get(stream.namespace_id)
        if namespace is not None and stream.stream_id in namespace.parents:
            return snapshot, None
        first = max(0, (snapshot.version if snapshot else 0) - before)
        events = await self._events.read_stream(stream, after=first, until=at_most, limit=limit)
        return snapshot, [UndecodedEvent.of(event) for event in events]

    async def save(self, stream: Stream, snapshot: Snapshot, *, since: int = NO_OTHERS) -> None:
        key = (stream.stream_id, snapshot.projection, snapshot.projection_version)
        stored = self._namespaces[stream.namespace_id].snapshots.setdefault(key, {})
        for version in [version for version in stored if since <= version < snapshot.version]:
            del stored[version]
        stored[snapshot.version] = snapshot
