"""The index of sessions, behind listings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.ports.session_index import SESSION_INDEX, IndexedSession, LifeFilter
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.stored_projections import locked_position, moved_on, unused_rows

_PUT: Final = sa.text((Path(__file__).parent / "session_queries" / "put_sessions.sql").read_text())
_NAMES: Final = IndexedSession.__struct_fields__
_FIELDS: Final = tuple(tables.session_index.c[name] for name in _NAMES)


class PostgresSessionIndex:
    """See `ports.session_index.SessionIndexStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def rows(self, namespace_id: UUID, build: int, stream_ids: Sequence[UUID]) -> dict[UUID, IndexedSession]:
        table = tables.session_index.c
        wanted = sa.select(*_FIELDS).where(
            table.namespace_id == namespace_id,
            table.projection_version == build,
            table.stream_id == sa.any_(sa.cast(list(stream_ids), ARRAY(sa.Uuid))),
        )
        async with self._pool.transaction(namespace_id) as connection:
            return {row.stream_id: row for row in map(_indexed, await connection.execute(wanted))}

    async def save(
        self, namespace_id: UUID, build: int, rows: Sequence[IndexedSession], *, after: int, position: int
    ) -> int | None:
        async with self._pool.transaction(namespace_id) as connection:
            reached = await locked_position(connection, namespace_id, SESSION_INDEX, build)
            if reached != after:
                return reached
            if rows:
                page = msgspec.json.encode(rows).decode()
                await connection.execute(_PUT, {"namespace_id": namespace_id, "build": build, "rows": page})
            await connection.execute(moved_on(namespace_id, SESSION_INDEX, build, position))
            return position

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
        wanted = (
            sa.select(*_FIELDS)
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
            return list(map(_indexed, await connection.execute(wanted)))

    async def page_of_live(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        table = tables.session_index.c
        live = [
            sa.tuple_(table.namespace_id, table.projection_version).in_(list(builds.items())),
            table.status == "live",
            sa.or_(table.expires_at.is_(None), table.expires_at > moment),
        ]
        if user_id is not None:
            live.append(table.user_id == user_id)
        newest = (
            sa.select(*_FIELDS)
            .where(*live)
            .order_by(table.updated_at.desc(), table.session_id, table.stream_id)
            .limit(limit)
        )
        async with self._pool.transaction(*builds) as connection:
            total = await connection.scalar(sa.select(sa.func.count()).where(*live)) or 0
            return total, list(map(_indexed, await connection.execute(newest)))


def _indexed(row: sa.Row[Any]) -> IndexedSession:
    return IndexedSession(**dict(zip(_NAMES, row, strict=True)))
