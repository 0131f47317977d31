"""Builds of stored projections in memory."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from ledger.ports import Clock
from ledger.ports.stored_projections import Checkpoint
from ledger.stores.in_memory.namespaces import StoredNamespace


class InMemoryProjections:
    """See `ports.stored_projections.ProjectionStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            return 0, []
        return len(namespace.log), [namespace.checkpoints[key] for key in sorted(namespace.checkpoints)]

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        return {each: await self.progress(each) for each in namespace_ids if each in self._namespaces}

    async def changed_sessions(
        self, namespace_id: UUID, projection: str, build: int, *, limit: int | None = None
    ) -> tuple[int, int, list[tuple[str, str]]]:
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            return 0, 0, []
        built = namespace.checkpoints.get((projection, build))
        done = built.position if built else 0
        fresh = namespace.log[done:] if limit is None else namespace.log[done : done + limit]
        names = (namespace.names[stream_id] for stream_id in {event.stream_id for event in fresh})
        sessions = (stream for stream in names if not stream.session_id.startswith("/"))  # trust R-1
        return done, done + len(fresh), sorted((stream.user_id, stream.session_id) for stream in sessions)

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        started = Checkpoint(
            projection=projection,
            build=build,
            position=0,
            status="building",
            code_digest=code_digest,
            updated_at=self._clock.now(),
        )
        self._namespaces[namespace_id].checkpoints.setdefault((projection, build), started)

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        checkpoints = self._namespaces[namespace_id].checkpoints
        built = checkpoints.get((projection, build))
        if built is not None:
            checkpoints[projection, build] = msgspec.structs.replace(built, status="live", updated_at=self._clock.now())
            for old in replaces:
                checkpoints.pop((projection, old), None)
