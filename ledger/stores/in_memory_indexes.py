"""What the reference store keeps beside its log: snapshots, builds of projections, and the index of sessions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import msgspec

from ledger.events import StoredEvent, to_microseconds
from ledger.ids import Stream
from ledger.ports import Clock
from ledger.ports.indexes import Checkpoint, IndexedSession, LifeFilter, Snapshot

SESSION_INDEX: Final = "session_index"


class _Space(Protocol):
    """What is asked of a namespace."""

    log: list[StoredEvent]
    names: dict[UUID, Stream]
    parents: dict[UUID, tuple[UUID, int]]
    snapshots: dict[tuple[UUID, str, int], dict[int, Snapshot]]
    checkpoints: dict[tuple[str, int], Checkpoint]
    index: dict[int, dict[UUID, IndexedSession]]


class InMemoryIndexes:
    """See `ports.indexes`."""

    def __init__(self, spaces: Mapping[UUID, _Space], clock: Clock) -> None:
        self._spaces = spaces
        self._clock = clock

    async def load_snapshot(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        """See `index_ports.SnapshotStore.load_snapshot`."""
        space = self._spaces.get(stream.namespace_id)
        kept = space.snapshots.get((stream.stream_id, projection, projection_version), {}) if space else {}
        usable = [version for version in kept if at_most is None or version <= at_most]
        if usable or space is None or stream.stream_id not in space.parents:
            return kept[max(usable)] if usable else None
        parent_id, version = space.parents[stream.stream_id]
        last = version if at_most is None else min(version, at_most)
        return await self.load_snapshot(space.names[parent_id], projection, projection_version, at_most=last)

    async def save_snapshot(self, stream: Stream, snapshot: Snapshot) -> None:
        """See `index_ports.SnapshotStore.save_snapshot`."""
        key = (stream.stream_id, snapshot.projection, snapshot.projection_version)
        self._spaces[stream.namespace_id].snapshots.setdefault(key, {})[snapshot.version] = snapshot

    async def projection_progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        """See `index_ports.CheckpointStore.projection_progress`."""
        space = self._spaces.get(namespace_id)
        return (len(space.log), [space.checkpoints[key] for key in sorted(space.checkpoints)]) if space else (0, [])

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        """See `index_ports.CheckpointStore.progress_of_all`."""
        return {space: await self.projection_progress(space) for space in namespace_ids if space in self._spaces}

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        """See `index_ports.CheckpointStore.begin_build`."""
        begun = Checkpoint(
            projection=projection,
            build=build,
            position=0,
            status="building",
            code_digest=code_digest,
            updated_at=self._clock.now(),
        )
        self._spaces[namespace_id].checkpoints.setdefault((projection, build), begun)

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        """See `index_ports.CheckpointStore.go_live`."""
        checkpoints = self._spaces[namespace_id].checkpoints
        built = checkpoints.get((projection, build))
        if built is not None:
            checkpoints[projection, build] = msgspec.structs.replace(built, status="live", updated_at=self._clock.now())
            for old in replaces:
                checkpoints.pop((projection, old), None)

    async def index_progress(
        self, namespace_id: UUID, build: int, *, limit: int | None = None
    ) -> tuple[int, list[tuple[str, str]]]:
        """See `index_ports.SessionIndexStore.index_progress`."""
        space = self._spaces.get(namespace_id)
        if space is None:
            return 0, []
        built = space.checkpoints.get((SESSION_INDEX, build))
        done = built.position if built else 0
        fresh = space.log[done:] if limit is None else space.log[done : done + limit]
        names = (space.names[stream_id] for stream_id in {event.stream_id for event in fresh})
        sessions = (stream for stream in names if not stream.session_id.startswith("/"))  # trust R-1
        return done + len(fresh), sorted((stream.user_id, stream.session_id) for stream in sessions)

    async def save_index(self, namespace_id: UUID, build: int, position: int, rows: Sequence[IndexedSession]) -> bool:
        """See `index_ports.SessionIndexStore.save_index`."""
        space = self._spaces.get(namespace_id)
        built = space.checkpoints.get((SESSION_INDEX, build)) if space else None
        if space is None or built is None:
            return False
        index = space.index.setdefault(build, {})
        index.update(
            {
                row.stream_id: row
                for row in rows
                if row.stream_id not in index or index[row.stream_id].version <= row.version
            }
        )
        if position > built.position:
            moved = msgspec.structs.replace(built, position=position, updated_at=self._clock.now())
            space.checkpoints[SESSION_INDEX, build] = moved
        return True

    async def prune_index(self, namespace_id: UUID) -> int:
        """See `index_ports.SessionIndexStore.prune_index`."""
        space = self._spaces.get(namespace_id)
        gone = [build for build in space.index if (SESSION_INDEX, build) not in space.checkpoints] if space else []
        return sum(len(space.index.pop(build)) for build in gone) if space else 0

    async def list_index(
        self,
        namespace_id: UUID,
        build: int,
        *,
        user_id: str | None = None,
        life: LifeFilter | None = None,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        """See `index_ports.SessionIndexStore.list_index`."""
        space = self._spaces.get(namespace_id)
        rows = space.index.get(build, {}).values() if space else ()
        newest = sorted(
            (row for row in rows if user_id in {None, row.user_id} and (life is None or _is(life, row))),
            key=lambda row: _newest_first(row.updated_at, row.stream_id),
        )
        if after is not None:
            newest = [row for row in newest if _newest_first(row.updated_at, row.stream_id) > _newest_first(*after)]
        return newest[:limit]

    async def live_index(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        """See `index_ports.SessionIndexStore.live_index`."""
        rows = [
            row
            for space, build in builds.items()
            if space in self._spaces
            for row in self._spaces[space].index.get(build, {}).values()
            if row.status == "live"
            and (row.expires_at is None or row.expires_at > moment)
            and (user_id is None or row.user_id == user_id)
        ]
        rows.sort(key=lambda row: (-to_microseconds(row.updated_at), row.session_id, row.stream_id))
        return len(rows), rows[:limit]


def _is(life: LifeFilter, row: IndexedSession) -> bool:
    expired = row.status == "live" and row.expires_at is not None and row.expires_at <= life.moment
    return life.status == ("expired" if expired else row.status)


def _newest_first(updated_at: datetime, stream_id: UUID) -> tuple[int, UUID]:
    return -to_microseconds(updated_at), stream_id
