"""Builds of stored projections in memory."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from ledger.events import StoredEvent
from ledger.ports import Clock
from ledger.ports.stored_projections import Checkpoint
from ledger.stores.in_memory.namespaces import StoredNamespace


class InMemoryProjections:
    """See `ports.stored_projections.ProjectionStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._claims: dict[tuple[UUID, str, int], tuple[str, datetime]] = {}

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            return 0, []
        return len(namespace.log), [namespace.checkpoints[key] for key in sorted(namespace.checkpoints)]

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        return {each: await self.progress(each) for each in namespace_ids if each in self._namespaces}

    async def read_ranges(
        self, namespace_id: UUID, ranges: Sequence[tuple[UUID, int, int]], *, each: int
    ) -> list[StoredEvent]:
        streams = self._namespaces[namespace_id].streams
        return [
            event
            for stream_id, first, last in ranges
            for event in [event for event in streams.get(stream_id, ()) if first <= event.version <= last][:each]
        ]

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

    async def claim(self, namespace_id: UUID, projection: str, build: int, *, by: str, lease_s: float) -> bool:
        namespace, now = self._namespaces.get(namespace_id), self._clock.now()
        holder, until = self._claims.get((namespace_id, projection, build), (by, now))
        if namespace is None or (projection, build) not in namespace.checkpoints or (holder != by and until > now):
            return False
        self._claims[namespace_id, projection, build] = by, now + timedelta(seconds=lease_s)
        return True

    async def note_failure(self, namespace_id: UUID, projection: str, build: int, *, position: int, error: str) -> None:
        namespace = self._namespaces.get(namespace_id)
        built = namespace.checkpoints.get((projection, build)) if namespace else None
        if namespace is not None and built is not None and built.position == position:
            namespace.checkpoints[projection, build] = msgspec.structs.replace(built, last_error=error)

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        checkpoints = self._namespaces[namespace_id].checkpoints
        built = checkpoints.get((projection, build))
        if built is not None:
            checkpoints[projection, build] = msgspec.structs.replace(built, status="live", updated_at=self._clock.now())
            for old in replaces:
                checkpoints.pop((projection, old), None)
