"""What the in-memory store holds for one namespace."""

from datetime import datetime
from uuid import UUID, uuid5

from ledger.errors import LedgerError, StreamNameMismatch, VersionConflict, VersionNotFound
from ledger.events import ExpirySet, SessionCleared, SessionOpened, SessionRestored, StoredEvent
from ledger.events.ids import Stream, stream_id
from ledger.ports.append_request import Appended, StreamWrite
from ledger.ports.event_store import NamespaceInfo, StreamHead
from ledger.ports.projection_store import Checkpoint
from ledger.ports.session_index import IndexedSession
from ledger.ports.snapshot_store import Snapshot
from projections.working_memory import ServedView

#: Types of events that start, end, resume or limit the life of a session.
_LIFE_EVENTS = frozenset({SessionOpened.type, SessionCleared.type, SessionRestored.type, ExpirySet.type})


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

    def take_back(self, length: int, known: set[tuple[UUID, UUID]]) -> None:
        """Remove the events after position *length*, and the requests that are not *known*."""
        for event in reversed(self.log[length:]):
            self.streams[event.stream_id].pop()
            if not self.streams[event.stream_id]:
                del self.streams[event.stream_id], self.names[event.stream_id]
                self.parents.pop(event.stream_id, None)
        del self.log[length:]
        for request in set(self.requests) - known:
            del self.requests[request]

    def refusal(self, write: StreamWrite, recorded_us: int) -> LedgerError | None:
        """Return why *write* cannot be appended at *recorded_us*; None if it can be."""
        stream = write.stream
        if stream.stream_id != stream_id(stream.namespace_id, stream.user_id, stream.session_id):
            return StreamNameMismatch()
        current = len(self.history(write.stream.stream_id))
        expected = 0 if write.forked_from else write.expected_version
        if expected is not None and expected != current:
            return VersionConflict(current=current, expected=expected)
        if write.live_until_us is not None and recorded_us >= write.live_until_us:
            return VersionConflict(current=current, expected=current, expired=True)
        if write.life_after is not None:
            since = self.history(stream.stream_id)[write.life_after :]
            if any(event.type in _LIFE_EVENTS for event in since):
                return VersionConflict(current=current, expected=write.life_after)
        if write.items_after is not None:
            items = {event.item_id for event in write.events} - {None}
            known = self.history(write.stream.stream_id)[write.items_after :]
            if any(event.item_id in items for event in known):
                return VersionConflict(current=current, expected=write.items_after)
        if write.forked_from is not None:
            parent, version = write.forked_from
            if not 1 <= version <= len(self.history(parent.stream_id)):
                return VersionNotFound("the session to fork has no such version; read which it has")
        return None


def begin_live(namespace: StoredNamespace, projection: str, build: int, code_digest: bytes, now: datetime) -> None:
    """Record *build* as the live one of *projection*, unless the namespace has a build of it."""
    if all(name != projection for name, _ in namespace.checkpoints):
        namespace.checkpoints[projection, build] = Checkpoint(
            projection=projection, build=build, position=0, status="live", code_digest=code_digest, updated_at=now
        )
