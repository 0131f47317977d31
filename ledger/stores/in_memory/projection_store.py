"""Builds of stored projections in memory."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec

from ledger.events import StoredEvent
from ledger.ports import Clock
from ledger.ports.projection_store import Checkpoint, NamedEvent
from ledger.stores.in_memory.namespace_rows import StoredNamespace


class InMemoryProjections:
    """See `ports.stored_projections.ProjectionStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._claims: dict[tuple[UUID, str, int], tuple[str, datetime, int]] = {}

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            return 0, []
        return len(namespace.log), [namespace.checkpoints[key] for key in sorted(namespace.checkpoints)]

    async def progress_of_all(
        self, namespace_ids: Sequence[UUID], projection: str
    ) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        known = {each: await self.progress(each) for each in namespace_ids if each in self._namespaces}
        return {
            namespace_id: (last, [build for build in builds if build.projection == projection])
            for namespace_id, (last, builds) in known.items()
        }

    async def read_ranges(
        self, namespace_id: UUID, ranges: Sequence[tuple[UUID, int, int]], *, each: int
    ) -> list[StoredEvent]:
        streams = self._namespaces[namespace_id].streams
        return [
            event
            for stream_id, first, last in ranges
            for event in [event for event in streams.get(stream_id, ()) if first <= event.version <= last][:each]
        ]

    async def read_namespaces(
        self, after: Mapping[UUID, int], *, limit: int, most_bytes: int
    ) -> dict[UUID, list[NamedEvent]]:
        found: dict[UUID, list[NamedEvent]] = {}
        size = 0
        for namespace_id in sorted(after.keys() & self._namespaces.keys()):
            namespace, first = self._namespaces[namespace_id], after[namespace_id]
            for event in namespace.log[first : first + limit]:
                if size >= most_bytes:
                    return found
                size += event.size_b
                stream = namespace.names[event.stream_id]
                found.setdefault(namespace_id, []).append(NamedEvent(stream.user_id, stream.session_id, event))
        return found

    async def begin_build(
        self,
        namespace_id: UUID,
        projection: str,
        build: int,
        code_digest: bytes,
        *,
        status: Literal["building", "live"] = "building",
    ) -> None:
        started = Checkpoint(
            projection=projection,
            build=build,
            position=0,
            status=status,
            code_digest=code_digest,
            updated_at=self._clock.now(),
        )
        self._namespaces[namespace_id].checkpoints.setdefault((projection, build), started)

    async def claim(
        self, namespace_id: UUID, projection: str, build: int, *, after: int, by: str, lease_s: float
    ) -> bool:
        namespace, now = self._namespaces.get(namespace_id), self._clock.now()
        built = namespace.checkpoints.get((projection, build)) if namespace else None
        if built is None or built.position != after:
            return False
        holder, until, position = self._claims.get((namespace_id, projection, build), (by, now, 0))
        if holder != by and until > now and position == built.position:
            return False
        self._claims[namespace_id, projection, build] = by, now + timedelta(seconds=lease_s), built.position
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
