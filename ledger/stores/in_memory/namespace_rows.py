"""What the in-memory store holds for one namespace."""

from datetime import datetime
from uuid import UUID, uuid5

from ledger.events import StoredEvent
from ledger.events.ids import Stream
from ledger.ports.event_store import Appended, NamespaceInfo, StreamHead
from ledger.ports.projection_store import Checkpoint
from ledger.ports.session_index import IndexedSession
from ledger.ports.snapshot_store import Snapshot
from projections.working_memory import ServedView


class StoredNamespace:
    """One namespace: its events in position order and by stream, and what is derived from them."""

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
        self.runs: dict[int, dict[UUID, dict[str, int]]] = {}
        self.views: dict[UUID, dict[ServedView, datetime]] = {}

    def history(self, stream_id: UUID) -> list[StoredEvent]:
        """Return the events of a stream, after those of its parents up to where each was forked."""
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


def begin_live(namespace: StoredNamespace, projection: str, build: int, code_digest: bytes, now: datetime) -> None:
    """Record *build* as the live one of *projection*, unless the namespace has a build of it."""
    if all(name != projection for name, _ in namespace.checkpoints):
        namespace.checkpoints[projection, build] = Checkpoint(
            projection=projection, build=build, position=0, status="live", code_digest=code_digest, updated_at=now
        )
