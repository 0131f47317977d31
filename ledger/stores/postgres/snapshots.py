"""Snapshots, one row for each."""

from sqlalchemy.dialects.postgresql import insert

from ledger.ids import Stream
from ledger.ports.snapshots import Snapshot
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import UNLIMITED, EventReader


class PostgresSnapshots:
    """See `ports.snapshots.SnapshotStore`; *events* finds the parents of a fork."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        self._pool = pool
        self._events = events

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        last = UNLIMITED if at_most is None else at_most
        wanted = {"projection": projection, "projection_version": projection_version}
        newest = {**wanted, "stream": stream.stream_id, "at_most": last}
        row = (await self._events.rows("load_snapshot", stream.namespace_id, newest))[0]
        for part in reversed((await self._events.parts(stream) or ())[:-1]) if row[0] is None and row[3] else ():
            newest = {**wanted, "stream": part.stream_id, "at_most": min(last, part.until)}
            row = (await self._events.rows("load_snapshot", stream.namespace_id, newest))[0]
            if row[0] is not None:
                break
        return None if row[0] is None else Snapshot(projection, projection_version, *row[:3])

    async def save(self, stream: Stream, snapshot: Snapshot) -> None:
        row = {
            "namespace_id": stream.namespace_id,
            "stream_id": stream.stream_id,
            "projection": snapshot.projection,
            "projection_version": snapshot.projection_version,
            "version": snapshot.version,
            "code_digest": snapshot.code_digest,
            "state": snapshot.state,
        }
        statement = insert(tables.snapshots).values(row)
        upsert = statement.on_conflict_do_update(
            index_elements=tables.snapshots.primary_key.columns.keys(),
            set_={"code_digest": statement.excluded.code_digest, "state": statement.excluded.state},
        )
        async with self._pool.transaction(stream.namespace_id) as connection:
            await connection.execute(upsert)
