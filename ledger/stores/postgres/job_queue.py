"""Jobs: the stored projection, and the queue that workers share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.ports.job_queue import JOBS, MOST_ATTEMPTS, Job, JobBacklog, JobKind, JobOutcome, SessionJobs
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.projection_store import locked_position, moved_on, unused_rows

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "job_queries").glob("*.sql")}
_CLAIM: Final = sa.text(_QUERIES["claim"]).bindparams(sa.bindparam("kinds", type_=ARRAY(sa.Text)))
_PUT: Final = sa.text(_QUERIES["put"])
_DROP: Final = sa.text(_QUERIES["drop"])
_RELEASE: Final = sa.text(_QUERIES["release"]).bindparams(
    sa.bindparam("error", type_=sa.Text), sa.bindparam("counts", type_=sa.Boolean)
)
_JOBS: Final = tables.jobs.c
_SHOWN: Final = (
    _JOBS.stream_id,
    _JOBS.user_id,
    _JOBS.session_id,
    _JOBS.kind,
    _JOBS.work,
    _JOBS.due_at,
    _JOBS.attempts,
    _JOBS.leased_until,
    sa.case((_JOBS.leased_until > sa.func.statement_timestamp(), _JOBS.leased_by)).label("leased_by"),
    _JOBS.last_error,
)


class PostgresJobs:
    """See `ports.jobs.JobStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(
        self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs], *, after: int, position: int
    ) -> int | None:
        async with self._pool.transaction(namespace_id) as connection:
            reached = await locked_position(connection, namespace_id, JOBS, build)
            if reached != after:
                return reached
            columns = {"namespace_id": namespace_id, "build": build, **columns_of_jobs(sessions)}
            if columns["changed"]:
                await connection.execute(_DROP, columns)
            if columns["streams"]:
                await connection.execute(_PUT, columns)
            await connection.execute(moved_on(namespace_id, JOBS, build, position))
            return position

    async def prune(self, namespace_id: UUID) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            return (await connection.execute(unused_rows(namespace_id, JOBS, tables.jobs))).rowcount

    async def namespaces_due(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> set[UUID]:
        now = sa.func.statement_timestamp()
        wanted = (
            sa.select(_JOBS.namespace_id)
            .distinct()
            .where(
                _JOBS.namespace_id.in_(namespace_ids),
                _JOBS.kind.in_(kinds),
                _JOBS.due_at <= now,
                sa.or_(_JOBS.leased_until.is_(None), _JOBS.leased_until <= now),
                sa.or_(_JOBS.attempts < MOST_ATTEMPTS, _JOBS.leased_by.is_not(None)),
            )
        )
        async with self._pool.transaction(*namespace_ids) as connection:
            return set(await connection.scalars(wanted))

    async def backlog(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> list[JobBacklog]:
        now = sa.func.statement_timestamp()
        dead = sa.and_(_JOBS.attempts >= MOST_ATTEMPTS, _JOBS.leased_by.is_(None))
        due = sa.and_(sa.not_(dead), _JOBS.due_at <= now)
        oldest_s = sa.func.extract("epoch", now - sa.func.min(_JOBS.due_at).filter(due))
        counted = (
            sa.select(
                _JOBS.kind,
                sa.func.count().filter(due),
                sa.func.coalesce(oldest_s, 0),
                sa.func.count().filter(dead),
            )
            .where(_JOBS.namespace_id.in_(namespace_ids), _JOBS.kind.in_(kinds))
            .group_by(_JOBS.kind)
            .order_by(_JOBS.kind)
        )
        async with self._pool.transaction(*namespace_ids) as connection:
            rows = await connection.execute(counted)
            return [JobBacklog(kind, due, float(oldest_s), dead) for kind, due, oldest_s, dead in rows]

    async def claim(
        self, namespace_id: UUID, build: int, *, by: str, kinds: Sequence[JobKind], lease_s: float, limit: int
    ) -> list[Job]:
        claim = {
            "namespace_id": namespace_id,
            "build": build,
            "by": by,
            "kinds": list(kinds),
            "lease_s": lease_s,
            "most": limit,
            "most_attempts": MOST_ATTEMPTS,
        }
        async with self._pool.transaction(namespace_id) as connection:
            rows = (await connection.execute(_CLAIM, claim)).mappings()
            return sorted((_job(namespace_id, build, row) for row in rows), key=lambda job: job.due_at)

    async def renew(self, job: Job, *, lease_s: float) -> bool:
        until = sa.func.statement_timestamp() + sa.func.make_interval(0, 0, 0, 0, 0, 0, lease_s)
        statement = (
            sa.update(tables.jobs).where(*_the_job(job), _JOBS.leased_by == job.leased_by).values(leased_until=until)
        )
        async with self._pool.transaction(job.namespace_id) as connection:
            return (await connection.execute(statement)).rowcount > 0

    async def release(self, job: Job, outcome: JobOutcome) -> None:
        released = {
            "namespace_id": job.namespace_id,
            "build": job.build,
            "stream_id": job.stream_id,
            "kind": job.kind,
            "work": job.work,
            "by": job.leased_by,
            "error": outcome.error,
            "counts": outcome.counts,
            "retry_after_s": outcome.retry_after_s,
        }
        async with self._pool.transaction(job.namespace_id) as connection:
            await connection.execute(_RELEASE, released)

    async def page(self, namespace_id: UUID, build: int, *, dead: bool = False, limit: int = 100) -> list[Job]:
        wanted = (
            sa.select(*_SHOWN)
            .where(_JOBS.namespace_id == namespace_id, _JOBS.projection_version == build)
            .order_by(_JOBS.due_at, _JOBS.stream_id, _JOBS.kind)
            .limit(limit)
        )
        if dead:
            wanted = wanted.where(_JOBS.attempts >= MOST_ATTEMPTS)
        async with self._pool.transaction(namespace_id) as connection:
            return [_job(namespace_id, build, row) for row in (await connection.execute(wanted)).mappings()]

    async def revive(self, namespace_id: UUID, build: int) -> int:
        statement = (
            sa.update(tables.jobs)
            .where(
                _JOBS.namespace_id == namespace_id,
                _JOBS.projection_version == build,
                _JOBS.attempts >= MOST_ATTEMPTS,
            )
            .values(attempts=0, due_at=sa.func.statement_timestamp())
        )
        async with self._pool.transaction(namespace_id) as connection:
            return (await connection.execute(statement)).rowcount


def columns_of_jobs(sessions: Sequence[SessionJobs]) -> dict[str, Any]:
    """Return the jobs of *sessions*, a list for each column, and the streams of all sessions as ``changed``."""
    wanted = [(session_jobs.stream, job) for session_jobs in sessions for job in session_jobs.jobs]
    return {
        "changed": [session_jobs.stream.stream_id for session_jobs in sessions],
        "streams": [stream.stream_id for stream, _ in wanted],
        "users": [stream.user_id for stream, _ in wanted],
        "sessions": [stream.session_id for stream, _ in wanted],
        "kinds": [job.kind for _, job in wanted],
        "works": [job.work for _, job in wanted],
        "dues": [job.due_at for _, job in wanted],
    }


def _the_job(job: Job) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _JOBS.namespace_id == job.namespace_id,
        _JOBS.projection_version == job.build,
        _JOBS.stream_id == job.stream_id,
        _JOBS.kind == job.kind,
    )


def _job(namespace_id: UUID, build: int, row: sa.RowMapping) -> Job:
    return Job(namespace_id=namespace_id, build=build, **row)
