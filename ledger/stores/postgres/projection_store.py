"""The builds of stored projections: start, progress, going live, and the rows that replaced builds leave."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.events import StoredEvent
from ledger.ports.projection_store import Checkpoint, FoldedPage, NamedEvent
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.event_rows import EventCursor, stored_event

T = TypeVar("T")

_BUILDS = tables.projection_checkpoints
_CHECKPOINTS = sa.select(
    _BUILDS.c.projection,
    _BUILDS.c.projection_version.label("build"),
    _BUILDS.c.position,
    _BUILDS.c.status,
    _BUILDS.c.code_digest,
    _BUILDS.c.updated_at,
    _BUILDS.c.last_error,
).order_by(_BUILDS.c.projection, _BUILDS.c.projection_version)

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "projection_queries").glob("*.sql")}
_BEGIN_LIVE: Final = sa.text(_QUERIES["begin_live"])
_LOCK: Final = sa.text(_QUERIES["lock"])
_MOVE_ON: Final = sa.text(_QUERIES["move_on"])
#: What is derived from the log is made again if a crash loses it, so nobody waits for the disk.
_WAIT: Final = sa.text("SELECT set_config('lock_timeout', '60s', true), set_config('synchronous_commit', 'off', true)")
#: With these, no plan depends on what the planner knows of a table, for example one that was just filled: an index that
#: serves the query is used, and with the second also for its order.
BY_INDEX: Final = sa.text("SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
IN_INDEX_ORDER: Final = sa.text("""
SELECT
    set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
    set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)
""")
_LAZY: Final = sa.text("SELECT set_config('synchronous_commit', 'off', true)")


class PostgresProjections:
    """See `ports.stored_projections.ProjectionStore`."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        self._pool = pool
        self._events = events

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        wanted = _CHECKPOINTS.where(_BUILDS.c.namespace_id == namespace_id)
        async with self._pool.transaction(namespace_id) as connection:
            builds = [_checkpoint(row) for row in (await connection.execute(wanted)).mappings()]
            return await connection.scalar(last_position(namespace_id)) or 0, builds

    async def progress_of_all(
        self, namespace_ids: Sequence[UUID], projection: str
    ) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        namespaces = tables.namespaces.c
        those = sa.any_(sa.cast(list(namespace_ids), ARRAY(sa.Uuid)))
        lasts = sa.select(namespaces.namespace_id, namespaces.last_position).where(namespaces.namespace_id == those)
        wanted = _CHECKPOINTS.add_columns(_BUILDS.c.namespace_id).where(
            _BUILDS.c.namespace_id == those, _BUILDS.c.projection == projection
        )
        async with self._pool.transaction(*namespace_ids) as connection:
            builds: dict[UUID, list[Checkpoint]] = {}
            for row in (await connection.execute(wanted)).mappings():
                builds.setdefault(row["namespace_id"], []).append(_checkpoint(row))
            return {row[0]: (row[1], builds.get(row[0], [])) for row in await connection.execute(lasts)}

    async def read_ranges(
        self, namespace_id: UUID, ranges: Sequence[tuple[UUID, int, int]], *, each: int
    ) -> list[StoredEvent]:
        return await self._events.read_ranges(namespace_id, ranges, each=each)

    async def read_namespaces(
        self, after: Mapping[UUID, int], *, limit: int, most_bytes: int
    ) -> dict[UUID, list[NamedEvent]]:
        bounds = {
            "namespaces": list(after),
            "after": list(after.values()),
            "limit": limit,
            "most_bytes": most_bytes,
        }
        found: dict[UUID, list[NamedEvent]] = {}
        for row in await self._events.rows("read_namespaces", None, bounds, cursor=EventCursor):
            event = stored_event(row[17], row)
            found.setdefault(event.namespace_id, []).append(NamedEvent(row[18], row[19], event))
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
        started = insert(_BUILDS).values(
            namespace_id=namespace_id,
            projection=projection,
            projection_version=build,
            position=0,
            status=status,
            code_digest=code_digest,
            updated_at=sa.func.statement_timestamp(),
        )
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(started.on_conflict_do_nothing())

    async def claim(
        self, namespace_id: UUID, projection: str, build: int, *, after: int, by: str, lease_s: float
    ) -> bool:
        now = sa.func.statement_timestamp()
        free = sa.or_(_BUILDS.c.claimed_by.is_(None), _BUILDS.c.claimed_by == by, _BUILDS.c.claimed_until <= now)
        claimed = (
            sa.update(_BUILDS)
            .where(the_build(namespace_id, projection, build), _BUILDS.c.position == after, free)
            .values(claimed_by=by, claimed_until=now + timedelta(seconds=lease_s))
        )
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(_LAZY)
            return (await connection.execute(claimed)).rowcount > 0

    async def note_failure(self, namespace_id: UUID, projection: str, build: int, *, position: int, error: str) -> None:
        failed = sa.update(_BUILDS).where(the_build(namespace_id, projection, build), _BUILDS.c.position == position)
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(failed.values(last_error=error))

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        built = (
            sa.update(_BUILDS)
            .where(the_build(namespace_id, projection, build))
            .values(status="live", updated_at=sa.func.statement_timestamp())
        )
        replaced = sa.delete(_BUILDS).where(
            _BUILDS.c.namespace_id == namespace_id,
            _BUILDS.c.projection == projection,
            _BUILDS.c.projection_version.in_(replaces),
        )
        async with self._pool.transaction(namespace_id) as connection:
            if (await connection.execute(built)).rowcount:
                await connection.execute(replaced)


def _checkpoint(row: sa.RowMapping) -> Checkpoint:
    return Checkpoint(
        projection=row["projection"],
        build=row["build"],
        position=row["position"],
        status=row["status"],
        code_digest=bytes(row["code_digest"]),
        updated_at=row["updated_at"],
        last_error=row["last_error"],
    )


def last_position(namespace_id: UUID) -> sa.Select[int]:
    """Return the query for the namespace's last position; it has no row if nothing was ever appended."""
    return sa.select(tables.namespaces.c.last_position).where(tables.namespaces.c.namespace_id == namespace_id)


def the_build(namespace_id: UUID, projection: str, build: int) -> sa.ColumnElement[bool]:
    """Return the condition that picks one build."""
    return sa.and_(
        _BUILDS.c.namespace_id == namespace_id,
        _BUILDS.c.projection == projection,
        _BUILDS.c.projection_version == build,
    )


async def locked_position(connection: AsyncConnection, namespace_id: UUID, projection: str, build: int) -> int | None:
    """Return the position that *build* is folded up to, None if it does not exist; it is locked until the commit.

    So of two processes that fold the same page only one writes it. The other waits longer than a service does
    elsewhere: a page of long texts takes its time, and an error would make its reader try again for nothing.
    """
    await connection.execute(_WAIT)
    at = sa.select(_BUILDS.c.position).where(the_build(namespace_id, projection, build))
    found: int | None = await connection.scalar(at.with_for_update())
    return found


def moved_on(namespace_id: UUID, projection: str, build: int, position: int) -> sa.Update:
    """Return the statement that records that *build*, which is locked, is folded up to *position*; a claim ends."""
    return (
        sa.update(_BUILDS)
        .where(the_build(namespace_id, projection, build))
        .values(
            position=position,
            updated_at=sa.func.statement_timestamp(),
            last_error=None,
            claimed_by=None,
            claimed_until=None,
        )
    )


async def in_place(
    connection: AsyncConnection, projection: str, pages: Iterable[FoldedPage[T]], begin_as: bytes | None
) -> tuple[list[FoldedPage[T]], dict[UUID, int | None]]:
    """Return those of *pages* that are the next ones of their builds, which are locked, and the positions reached.

    The caller stores their rows in the same transaction. With *begin_as* builds of namespaces that have none begin.
    """
    ordered = sorted(pages, key=lambda page: page.namespace_id)
    await connection.execute(_WAIT)
    builds: dict[str, Any] = {
        "projection": projection,
        "namespaces": [page.namespace_id for page in ordered],
        "builds": [page.build for page in ordered],
    }
    if begin_as is not None and any(not page.after for page in ordered):
        await connection.execute(_BEGIN_LIVE, {**builds, "code_digest": begin_as})
    at = {row[0]: row[1] for row in await connection.execute(_LOCK, builds)}
    following = [page for page in ordered if at.get(page.namespace_id) == page.after]
    moved = {page.namespace_id: page.position for page in following}
    return following, {page.namespace_id: moved.get(page.namespace_id, at.get(page.namespace_id)) for page in ordered}


async def move_on(connection: AsyncConnection, projection: str, pages: Sequence[FoldedPage[Any]]) -> None:
    """Record that the builds of *pages*, which are locked, are folded up to their ends."""
    if pages:
        moved = {
            "projection": projection,
            "namespaces": [page.namespace_id for page in pages],
            "builds": [page.build for page in pages],
            "positions": [page.position for page in pages],
        }
        await connection.execute(_MOVE_ON, moved)


def unused_rows(namespace_id: UUID, projection: str, table: sa.Table) -> sa.Delete:
    """Return the statement that deletes the rows of *projection* in *table* whose build no longer exists.

    A build is recorded before its first row, so the rows of a build that starts meanwhile stay.
    """
    known = sa.select(_BUILDS.c.projection_version).where(
        _BUILDS.c.namespace_id == namespace_id, _BUILDS.c.projection == projection
    )
    return sa.delete(table).where(table.c.namespace_id == namespace_id, table.c.projection_version.not_in(known))
