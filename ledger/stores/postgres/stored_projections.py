"""The builds of stored projections: start, progress, going live, and the rows that replaced builds leave."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.events import StoredEvent
from ledger.ports.stored_projections import Checkpoint
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventReader

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

_WAIT = sa.text("SELECT set_config('lock_timeout', '60s', true)")


class PostgresProjections:
    """See `ports.stored_projections.ProjectionStore`."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        self._pool = pool
        self._events = events

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        wanted = _CHECKPOINTS.where(_BUILDS.c.namespace_id == namespace_id)
        async with self._pool.transaction(namespace_id) as connection:
            last = await connection.scalar(last_position(namespace_id)) or 0
            return last, [_checkpoint(row) for row in (await connection.execute(wanted)).mappings()]

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        namespaces = tables.namespaces.c
        lasts = sa.select(namespaces.namespace_id, namespaces.last_position).where(
            namespaces.namespace_id.in_(namespace_ids)
        )
        wanted = _CHECKPOINTS.add_columns(_BUILDS.c.namespace_id).where(_BUILDS.c.namespace_id.in_(namespace_ids))
        async with self._pool.transaction(*namespace_ids) as connection:
            found: dict[UUID, tuple[int, list[Checkpoint]]] = {
                row[0]: (row[1], []) for row in await connection.execute(lasts)
            }
            for row in (await connection.execute(wanted)).mappings():
                if row["namespace_id"] in found:
                    found[row["namespace_id"]][1].append(_checkpoint(row))
            return found

    async def read_ranges(
        self, namespace_id: UUID, ranges: Sequence[tuple[UUID, int, int]], *, each: int
    ) -> list[StoredEvent]:
        return await self._events.read_ranges(namespace_id, ranges, each=each)

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        started = insert(_BUILDS).values(
            namespace_id=namespace_id,
            projection=projection,
            projection_version=build,
            position=0,
            status="building",
            code_digest=code_digest,
            updated_at=sa.func.statement_timestamp(),
        )
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(started.on_conflict_do_nothing())

    async def claim(self, namespace_id: UUID, projection: str, build: int, *, by: str, lease_s: float) -> bool:
        now = sa.func.statement_timestamp()
        free = sa.or_(_BUILDS.c.claimed_by.is_(None), _BUILDS.c.claimed_by == by, _BUILDS.c.claimed_until <= now)
        claimed = (
            sa.update(_BUILDS)
            .where(the_build(namespace_id, projection, build), free)
            .values(claimed_by=by, claimed_until=now + timedelta(seconds=lease_s))
        )
        async with self._pool.transaction(namespace_id) as connection:
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
    """Return the statement that records that *build*, which is locked, is folded up to *position*."""
    return (
        sa.update(_BUILDS)
        .where(the_build(namespace_id, projection, build))
        .values(position=position, updated_at=sa.func.statement_timestamp(), last_error=None)
    )


def unused_rows(namespace_id: UUID, projection: str, table: sa.Table) -> sa.Delete:
    """Return the statement that deletes the rows of *projection* in *table* whose build no longer exists.

    A build is recorded before its first row, so the rows of a build that starts meanwhile stay.
    """
    known = sa.select(_BUILDS.c.projection_version).where(
        _BUILDS.c.namespace_id == namespace_id, _BUILDS.c.projection == projection
    )
    return sa.delete(table).where(table.c.namespace_id == namespace_id, table.c.projection_version.not_in(known))
