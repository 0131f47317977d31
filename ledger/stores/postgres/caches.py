"""What is kept beside the log and may be dropped: snapshots, and the index behind listings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ledger.ids import Stream
from ledger.ports.indexes import IndexedSession, LifeFilter, Snapshot
from ledger.stores.postgres import tables
from ledger.stores.postgres.checkpoints import moved_on, sessions_changed, unused_rows
from ledger.stores.postgres.connections import Pool


class Caches:
    """The writing half of `ports.indexes.SnapshotStore`, and the `ports.indexes.SessionIndexStore` of the store."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save_snapshot(self, stream: Stream, snapshot: Snapshot) -> None:
        """See `ports.indexes.SnapshotStore.save_snapshot`."""
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

    async def index_progress(
        self, namespace_id: UUID, build: int, *, limit: int | None = None
    ) -> tuple[int, list[tuple[str, str]]]:
        """See `ports.indexes.SessionIndexStore.index_progress`."""
        async with self._pool.transaction(namespace_id) as connection:
            _, until, changed = await sessions_changed(
                connection, namespace_id, tables.session_index.name, build, limit=limit
            )
            return until, changed

    async def save_index(self, namespace_id: UUID, build: int, position: int, rows: Sequence[IndexedSession]) -> bool:
        """See `ports.indexes.SessionIndexStore.save_index`."""
        index = tables.session_index
        async with self._pool.transaction(namespace_id) as connection:
            # first, so that a build which is being replaced is either written to before that or not at all
            if await connection.scalar(moved_on(namespace_id, index.name, build, position)) is None:
                return False
            for row in rows:
                values = {name: getattr(row, name) for name in row.__struct_fields__}
                statement = insert(index).values(namespace_id=namespace_id, projection_version=build, **values)
                newer = {name: statement.excluded[name] for name in values}
                await connection.execute(
                    statement.on_conflict_do_update(
                        index_elements=index.primary_key.columns.keys(),
                        set_=newer,
                        where=index.c.version <= statement.excluded.version,
                    )
                )
            return True

    async def prune_index(self, namespace_id: UUID) -> int:
        """See `ports.indexes.SessionIndexStore.prune_index`."""
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            return (await connection.execute(unused_rows(namespace_id, tables.session_index))).rowcount

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
        """See `ports.indexes.SessionIndexStore.list_index`."""
        table = tables.session_index.c
        fields = IndexedSession.__struct_fields__
        wanted = (
            sa.select(*(table[name] for name in fields))
            .where(table.namespace_id == namespace_id, table.projection_version == build)
            .order_by(table.updated_at.desc(), table.stream_id)
            .limit(limit)
        )
        if user_id is not None:
            wanted = wanted.where(table.user_id == user_id)
        if life is not None:
            gone = sa.and_(table.status == "live", table.expires_at.is_not(None), table.expires_at <= life.moment)
            alike = gone if life.status == "expired" else sa.and_(table.status == life.status, sa.not_(gone))
            wanted = wanted.where(alike)
        if after is not None:
            moment, stream_id = after
            wanted = wanted.where(
                sa.or_(
                    table.updated_at < moment,
                    sa.and_(table.updated_at == moment, table.stream_id > stream_id),
                )
            )
        async with self._pool.transaction(namespace_id) as connection:
            rows = await connection.execute(wanted)
            return [IndexedSession(**dict(zip(fields, row, strict=True))) for row in rows]

    async def live_index(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        """See `ports.indexes.SessionIndexStore.live_index`."""
        table = tables.session_index.c
        fields = IndexedSession.__struct_fields__
        live = [
            sa.tuple_(table.namespace_id, table.projection_version).in_(list(builds.items())),
            table.status == "live",
            sa.or_(table.expires_at.is_(None), table.expires_at > moment),
        ]
        if user_id is not None:
            live.append(table.user_id == user_id)
        newest = (
            sa.select(*(table[name] for name in fields))
            .where(*live)
            .order_by(table.updated_at.desc(), table.session_id, table.stream_id)
            .limit(limit)
        )
        async with self._pool.transaction(*builds) as connection:
            total = await connection.scalar(sa.select(sa.func.count()).where(*live)) or 0
            rows = await connection.execute(newest)
            return total, [IndexedSession(**dict(zip(fields, row, strict=True))) for row in rows]

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        """Forget idempotency keys older than *days*, at least one (trust R-6); return how many."""
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            statement = sa.text("SELECT ledger.prune_requests(:namespace_id, make_interval(days => :days))")
            return int(await connection.scalar(statement, {"namespace_id": namespace_id, "days": days}) or 0)
