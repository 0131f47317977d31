"""Snapshots, one row for each."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ledger.events import UndecodedEvent
from ledger.ids import Stream
from ledger.ports.snapshots import NO_OTHERS, Snapshot
from ledger.stores.postgres.arrays import POSTGRES_EPOCH_US
from ledger.stores.postgres.event_reader import UNLIMITED, EventCursor, EventReader


class PostgresSnapshots:
    """See `ports.snapshots.SnapshotStore`; *events* runs the queries and finds the parents of a fork."""

    def __init__(self, events: EventReader) -> None:
        self._events = events

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        snapshot, _ = await self.load_with_events(stream, projection, projection_version, at_most=at_most, limit=0)
        return snapshot

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
        last = UNLIMITED if at_most is None else at_most
        wanted = {"projection": projection, "projection_version": projection_version}

        async def rows(stream_id: UUID, last: int, limit: int) -> list[tuple[Any, ...]]:
            bounds = {"stream": stream_id, "at_most": last, "before": before, "limit": limit}
            return await self._events.rows("load_snapshot", stream.namespace_id, wanted | bounds, cursor=EventCursor)

        found = await rows(stream.stream_id, last, limit)
        first, is_fork = found[0], found[0][3]
        for part in reversed((await self._events.parts(stream) or ())[:-1]) if first[0] is None and is_fork else ():
            (first,) = await rows(part.stream_id, min(last, part.until), 0)
            if first[0] is not None:
                break
        snapshot = None if first[0] is None else Snapshot(projection, projection_version, *first[:3])
        if is_fork:
            return snapshot, None
        return snapshot, [_event(row) for row in found if row[4] is not None]

    async def save(self, stream: Stream, snapshot: Snapshot, *, since: int = NO_OTHERS) -> None:
        row = {
            "stream": stream.stream_id,
            "projection": snapshot.projection,
            "projection_version": snapshot.projection_version,
            "version": snapshot.version,
            "code_digest": snapshot.code_digest,
            "state": snapshot.state,
            "since": since,
        }
        await self._events.rows("save_snapshot", stream.namespace_id, row)


def _event(row: tuple[Any, ...]) -> UndecodedEvent:
    _, _, _, _, version, position, event_id, type_, schema_version, codec, occurred, recorded, actor, *content = row
    return UndecodedEvent(
        version,
        position,
        event_id,
        type_,
        schema_version,
        codec,
        occurred + POSTGRES_EPOCH_US,
        recorded + POSTGRES_EPOCH_US,
        actor,
        *content,
    )
