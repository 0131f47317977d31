"""Snapshots in memory."""

from collections.abc import Mapping
from uuid import UUID

from ledger.ids import Stream
from ledger.ports.snapshots import Snapshot
from ledger.stores.in_memory.namespaces import StoredNamespace


class InMemorySnapshots:
    """See `ports.snapshots.SnapshotStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace]) -> None:
        self._namespaces = namespaces

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

    async def save(self, stream: Stream, snapshot: Snapshot) -> None:
        key = (stream.stream_id, snapshot.projection, snapshot.projection_version)
        self._namespaces[stream.namespace_id].snapshots.setdefault(key, {})[snapshot.version] = snapshot
