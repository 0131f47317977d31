"""Snapshots, one row for each, with a proof that this ledger wrote it.

Anybody who can write rows can write a snapshot, and what clients add to a state becomes events. So a snapshot counts
only with a MAC under a key that the database does not have; without one the session is read from its
events (trust K-1).
"""

import hmac
import secrets
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on

from ledger.events import UndecodedEvent
from ledger.events.ids import Stream
from ledger.ports.snapshot_store import NO_OTHERS, Snapshot
from ledger.stores.postgres import tables
from ledger.stores.postgres.arrays import POSTGRES_EPOCH_US
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.event_rows import EventCursor
from ledger.stores.postgres.stream_reader import UNLIMITED

_TAG: Final = b"mledger/snapshot/1\n"


class PostgresSnapshots:
    """See `ports.snapshots.SnapshotStore`; *events* runs the queries and finds the parents of a fork.

    *key* signs; without one, the snapshots of this process are of use to no other.
    """

    def __init__(self, pool: Pool, events: EventReader, key: bytes | None = None) -> None:
        self._pool = pool
        self._events = events
        self._key = key or secrets.token_bytes(32)

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        snapshot, _ = await self.load_with_events(stream, projection, projection_version, at_most=at_most, limit=0)
        return snapshot

    async def newest(
        self, namespace_id: UUID, stream_ids: Sequence[UUID], projection: str, projection_version: int
    ) -> dict[UUID, Snapshot | None]:
        stored, streams = tables.snapshots.c, tables.streams.c
        ids = sa.cast(list(stream_ids), ARRAY(sa.Uuid))
        newest = (
            sa.select(stored.stream_id, stored.version, stored.code_digest, stored.head_hash, stored.mac, stored.state)
            .ext(distinct_on(stored.stream_id))
            .where(
                stored.namespace_id == namespace_id,
                stored.stream_id == sa.any_(ids),
                stored.projection == projection,
                stored.projection_version == projection_version,
            )
            .order_by(stored.stream_id, stored.version.desc())
        )
        forks = sa.select(streams.stream_id).where(
            streams.namespace_id == namespace_id, streams.stream_id == sa.any_(ids), streams.parent_id.is_not(None)
        )
        async with self._pool.transaction(namespace_id) as connection:
            found: dict[UUID, Snapshot | None] = dict.fromkeys(stream_ids)
            for stream_id, version, code_digest, head_hash, mac, state in await connection.execute(newest):
                snapshot = Snapshot(projection, projection_version, version, code_digest, head_hash, state)
                found[stream_id] = snapshot if self._is_proved(namespace_id, stream_id, snapshot, mac) else None
            for stream_id in await connection.scalars(forks):
                del found[stream_id]
            return found

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
            found = await self._events.rows("load_snapshot", stream.namespace_id, wanted | bounds, cursor=EventCursor)
            return sorted(found, key=lambda row: row[0] or 0)

        (first, *events), owner = await rows(stream.stream_id, last, limit), stream.stream_id
        is_fork = first[-1]
        for part in reversed((await self._events.parts(stream) or ())[:-1]) if first[1] is None and is_fork else ():
            owner, (first,) = part.stream_id, await rows(part.stream_id, min(last, part.until), 0)
            if first[1] is not None:
                break
        snapshot = None
        if first[1] is not None:
            head_hash, state, _, code_digest, mac = first[9:14]
            snapshot = Snapshot(projection, projection_version, first[1], code_digest, head_hash, state)
            if not self._is_proved(stream.namespace_id, owner, snapshot, mac):
                return None, None  # the events are those after it
        if is_fork:
            return snapshot, None
        return snapshot, [_event(row) for row in events]

    async def save(self, stream: Stream, snapshot: Snapshot, *, since: int = NO_OTHERS) -> None:
        row = {
            "stream": stream.stream_id,
            "projection": snapshot.projection,
            "projection_version": snapshot.projection_version,
            "version": snapshot.version,
            "code_digest": snapshot.code_digest,
            "head_hash": snapshot.head_hash,
            "mac": self._mac(stream.namespace_id, stream.stream_id, snapshot),
            "state": snapshot.state,
            "since": since,
        }
        await self._events.rows("save_snapshot", stream.namespace_id, row)

    def _is_proved(self, namespace_id: UUID, stream_id: UUID, snapshot: Snapshot, mac: bytes) -> bool:
        try:
            return hmac.compare_digest(self._mac(namespace_id, stream_id, snapshot), mac)
        except TypeError:  # a null, after the constraint against it was dropped
            return False

    def _mac(self, namespace_id: UUID, stream_id: UUID, snapshot: Snapshot) -> bytes:
        """Return the MAC over all that a reader believes of *snapshot*; every part but the last has its length."""
        name = snapshot.projection.encode()
        signed = (
            _TAG,
            namespace_id.bytes,
            stream_id.bytes,
            len(name).to_bytes(4),
            name,
            snapshot.projection_version.to_bytes(4, signed=True),
            snapshot.version.to_bytes(8, signed=True),
            snapshot.code_digest,
            snapshot.head_hash,
            snapshot.state,
        )
        return hmac.digest(self._key, b"".join(signed), "sha256")


def _event(row: tuple[Any, ...]) -> UndecodedEvent:
    return UndecodedEvent(
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
        row[6] + POSTGRES_EPOCH_US,
        row[7] + POSTGRES_EPOCH_US,
        row[8],
        row[9],
        row[10],
        row[11],
    )
