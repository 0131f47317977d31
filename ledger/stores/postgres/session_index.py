"""The index of sessions, behind listings."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.events import ForkedFrom
from ledger.ports.projection_store import FoldedPage
from ledger.ports.session_index import EVERY_SESSION, SESSION_INDEX, IndexedSession, RowKey, SessionFilter
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.projection_store import BY_INDEX, IN_INDEX_ORDER, in_place, move_on, unused_rows
from ledger.stores.postgres.session_conditions import NAMES, page_query

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "session_queries").glob("*.sql")}
_PUT: Final = sa.text(_QUERIES["put_sessions"])
_PUT_RUNS: Final = sa.text(_QUERIES["put_runs"])
_RUNS: Final = sa.text(_QUERIES["runs"])
_OF_RUN: Final = sa.text(_QUERIES["of_run"])
_ROWS: Final = sa.text(_QUERIES["rows"])
_LIVE: Final = sa.text(_QUERIES["live"])
_ORIGINS: Final = sa.text(_QUERIES["origins"])


class PostgresSessionIndex:
    """See `ports.session_index.SessionIndexStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def rows(self, wanted: Sequence[RowKey]) -> dict[UUID, IndexedSession]:
        keys = _keys(wanted)
        async with self._pool.transaction(*dict.fromkeys(keys["namespaces"])) as connection:
            return {row.stream_id: _indexed(row) for row in (await connection.execute(_ROWS, keys)).mappings()}

    async def runs(self, wanted: Sequence[RowKey]) -> dict[UUID, dict[str, int]]:
        keys = _keys(wanted)
        found: dict[UUID, dict[str, int]] = {}
        async with self._pool.transaction(*dict.fromkeys(keys["namespaces"])) as connection:
            for stream_id, run_id, version in await connection.execute(_RUNS, keys):
                found.setdefault(stream_id, {})[run_id] = version
        return found

    async def save(
        self, namespace_id: UUID, build: int, rows: Sequence[IndexedSession], *, after: int, position: int
    ) -> int | None:
        return (await self._save([FoldedPage(namespace_id, build, after, position, rows)]))[namespace_id]

    async def save_all(self, pages: Iterable[FoldedPage[IndexedSession]], *, begin_as: bytes) -> dict[UUID, int | None]:
        return await self._save(list(pages), begin_as)

    async def _save(
        self, pages: Sequence[FoldedPage[IndexedSession]], begin_as: bytes | None = None
    ) -> dict[UUID, int | None]:
        async with self._pool.transaction(*(page.namespace_id for page in pages)) as connection:
            following, reached = await in_place(connection, SESSION_INDEX, pages, begin_as)
            given = [
                {"namespace_id": page.namespace_id, "build": page.build, "rows": page.rows}
                for page in following
                if page.rows
            ]
            if given:
                rows = {"pages": msgspec.json.encode(given).decode()}
                await connection.execute(_PUT, rows)
                if any(row.new_runs for page in following for row in page.rows):
                    await connection.execute(_PUT_RUNS, rows)
            await move_on(connection, SESSION_INDEX, following)
            return reached

    async def prune(self, namespace_id: UUID) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            await connection.execute(unused_rows(namespace_id, SESSION_INDEX, tables.session_runs))
            return (await connection.execute(unused_rows(namespace_id, SESSION_INDEX, tables.session_index))).rowcount

    async def page(
        self,
        namespace_id: UUID,
        build: int,
        *,
        wanted: SessionFilter = EVERY_SESSION,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(IN_INDEX_ORDER)
            streams = None
            if wanted.run_id is not None:
                run = {"namespace": namespace_id, "build": build, "run_id": wanted.run_id}
                streams = list(await connection.scalars(_OF_RUN, run))
            query = page_query(namespace_id, build, wanted, after, limit, streams=streams)
            rows = list(map(_indexed, (await connection.execute(query)).mappings()))
            origins = await _origins(connection, namespace_id, rows)
        return [msgspec.structs.replace(row, forked_from=origins.get(row.stream_id)) for row in rows]

    async def page_of_live(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        wanted = {
            "namespaces": list(builds),
            "builds": list(builds.values()),
            "user_id": user_id,
            "moment": moment,
            "limit": limit,
        }
        async with self._pool.transaction(*builds) as connection:
            await connection.execute(BY_INDEX)
            rows = (await connection.execute(_LIVE, wanted)).mappings().all()
        return (rows[0]["total"] if rows else 0), list(map(_indexed, rows))


def _keys(wanted: Sequence[RowKey]) -> dict[str, list[Any]]:
    namespaces, builds, streams = map(list, zip(*wanted, strict=True)) if wanted else ([], [], [])
    return {"namespaces": namespaces, "builds": builds, "streams": streams}


async def _origins(
    connection: AsyncConnection, namespace_id: UUID, rows: Sequence[IndexedSession]
) -> dict[UUID, ForkedFrom]:
    """Return where the sessions of *rows* that are forks were forked."""
    wanted = {"namespace": namespace_id, "streams": [row.stream_id for row in rows]}
    found = await connection.execute(_ORIGINS, wanted) if rows else ()
    return {each[0]: ForkedFrom(user_id=each[1], session_id=each[2], version=each[3]) for each in found}


def _indexed(row: sa.RowMapping) -> IndexedSession:
    return IndexedSession(**{name: row[name] for name in NAMES})
