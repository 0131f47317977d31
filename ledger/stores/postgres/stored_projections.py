"""The builds of stored projections: start, progress, going live, and the rows that replaced builds leave."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningUpdate

from ledger.ports.stored_projections import Checkpoint
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool

_BUILDS = tables.projection_checkpoints
_CHECKPOINTS = sa.select(
    _BUILDS.c.projection,
    _BUILDS.c.projection_version.label("build"),
    _BUILDS.c.position,
    _BUILDS.c.status,
    _BUILDS.c.code_digest,
    _BUILDS.c.updated_at,
).order_by(_BUILDS.c.projection, _BUILDS.c.projection_version)


class PostgresProjections:
    """See `ports.stored_projections.ProjectionStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

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

    async def changed_sessions(
        self, namespace_id: UUID, projection: str, build: int, *, limit: int | None = None
    ) -> tuple[int, int, list[tuple[str, str]]]:
        events, streams = tables.events.c, tables.streams.c
        async with self._pool.transaction(namespace_id) as connection:
            last = await connection.scalar(last_position(namespace_id)) or 0
            folded = sa.select(_BUILDS.c.position).where(the_build(namespace_id, projection, build))
            done = await connection.scalar(folded) or 0
            until = last if limit is None else min(last, done + limit)
            if until <= done:
                return done, done, []
            changed = sa.select(events.stream_id).where(
                events.namespace_id == namespace_id, events.position > done, events.position <= until
            )
            names = sa.select(streams.user_id, streams.session_id).where(
                streams.namespace_id == namespace_id,
                streams.stream_id.in_(changed.distinct()),
                sa.not_(streams.session_id.startswith("/")),  # not a session's stream (trust R-1)
            )
            return done, until, sorted((row[0], row[1]) for row in await connection.execute(names))

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        started = insert(_BUILDS).values(
            namespace_id=namespace_id,
            projection=projection,
            projection_version=build,
            position=0,
            status="building",
            code_digest=code_digest,
            updated_at=sa.func.clock_timestamp(),
        )
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(started.on_conflict_do_nothing())

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        built = (
            sa.update(_BUILDS)
            .where(the_build(namespace_id, projection, build))
            .values(status="live", updated_at=sa.func.clock_timestamp())
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


def moved_on(namespace_id: UUID, projection: str, build: int, position: int) -> ReturningUpdate[int]:
    """Return the statement that records that *build* is folded up to *position*.

    It returns no row if the build does not exist. It locks the build until the transaction ends and never lowers its
    position.
    """
    return (
        sa.update(_BUILDS)
        .where(the_build(namespace_id, projection, build))
        .values(
            position=sa.func.greatest(_BUILDS.c.position, position),
            updated_at=sa.case((_BUILDS.c.position < position, sa.func.clock_timestamp()), else_=_BUILDS.c.updated_at),
        )
        .returning(_BUILDS.c.projection_version)
    )


def unused_rows(namespace_id: UUID, projection: str, table: sa.Table) -> sa.Delete:
    """Return the statement that deletes the rows of *projection* in *table* whose build no longer exists.

    A build is recorded before its first row, so the rows of a build that starts meanwhile stay.
    """
    known = sa.select(_BUILDS.c.projection_version).where(
        _BUILDS.c.namespace_id == namespace_id, _BUILDS.c.projection == projection
    )
    return sa.delete(table).where(table.c.namespace_id == namespace_id, table.c.projection_version.not_in(known))
