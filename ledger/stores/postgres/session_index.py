"""The index of sessions, behind listings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ledger.ports.session_index import SESSION_INDEX, IndexedSession, LifeFilter
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.stored_projections import moved_on, unused_rows


class PostgresSessionIndex:
    """See `ports.session_index.SessionIndexStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(self, namespace_id: UUID, build: int, position: int, rows: Sequence[IndexedSession]) -> bool:
        index = tables.session_index
        async with self._pool.transaction(namespace_id) as connection:
            # first: it locks the build, so that one which is being replaced is written before that or not at all
            if await connection.scalar(moved_on(namespace_id, SESSION_INDEX, build, position)) is None:
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

    async def prune(self, namespace_id: UUID) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            return (await connection.execute(unused_rows(namespace_id, SESSION_INDEX, tables.session_index))).rowcount

    async def page(
        self,
        namespace_id: UUID,
        build: int,
        *,
        user_id: str | None = None,
        life: LifeFilter | None = None,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
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
            expired = sa.and_(table.status == "live", table.expires_at.is_not(None), table.expires_at <= life.moment)
            matches = expired if life.status == "expired" else sa.and_(table.status == life.status, sa.not_(expired))
            wanted = wanted.where(matches)
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

    async def page_of_live(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
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
