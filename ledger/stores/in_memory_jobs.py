"""The reference of `ports.jobs`: background work in dictionaries."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec.structs import replace

from ledger.events import StoredEvent
from ledger.ids import Stream
from ledger.ports import Clock
from ledger.ports.indexes import Checkpoint
from ledger.ports.jobs import JOBS, MOST_ATTEMPTS, Job, JobKind, Outcome, SessionJobs


class _Space(Protocol):
    """What is needed of a namespace of the store."""

    log: list[StoredEvent]
    names: dict[UUID, Stream]
    checkpoints: dict[tuple[str, int], Checkpoint]


class InMemoryJobs:
    """The `ports.jobs.JobStore` of the store; nothing is awaited, so nobody sees the middle."""

    def __init__(self, spaces: Mapping[UUID, _Space], clock: Clock) -> None:
        self._spaces = spaces
        self._clock = clock
        self._jobs: dict[tuple[UUID, int], dict[tuple[UUID, JobKind], Job]] = {}

    async def changed_sessions(
        self, namespace_id: UUID, projection: str, build: int, *, limit: int
    ) -> tuple[int, int, list[tuple[str, str]]]:
        """See `job_ports.JobIndexStore.changed_sessions`."""
        space = self._spaces.get(namespace_id)
        if space is None:
            return 0, 0, []
        built = space.checkpoints.get((projection, build))
        done = built.position if built else 0
        fresh = space.log[done : done + limit]
        names = (space.names[stream_id] for stream_id in {event.stream_id for event in fresh})
        sessions = (stream for stream in names if not stream.session_id.startswith("/"))  # trust R-1
        return done, done + len(fresh), sorted((stream.user_id, stream.session_id) for stream in sessions)

    async def save_jobs(
        self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs], *, after: int, position: int
    ) -> int | None:
        """See `job_ports.JobIndexStore.save_jobs`."""
        space = self._spaces.get(namespace_id)
        built = space.checkpoints.get((JOBS, build)) if space else None
        if space is None or built is None or built.position != after:
            return built.position if built else None
        kept = self._jobs.setdefault((namespace_id, build), {})
        for one in sessions:
            before = {key: kept.pop(key) for key in list(kept) if key[0] == one.stream.stream_id}
            for due in one.jobs:
                new = Job(
                    namespace_id=namespace_id,
                    build=build,
                    stream_id=one.stream.stream_id,
                    user_id=one.stream.user_id,
                    session_id=one.stream.session_id,
                    kind=due.kind,
                    work=due.work,
                    due_at=due.due_at,
                )
                old = before.get((one.stream.stream_id, due.kind))
                kept[one.stream.stream_id, due.kind] = new if old is None else _anew(old, new)
        if position > built.position:
            space.checkpoints[JOBS, build] = replace(built, position=position, updated_at=self._clock.now())
        return position

    async def prune_jobs(self, namespace_id: UUID) -> int:
        """See `job_ports.JobIndexStore.prune_jobs`."""
        space = self._spaces.get(namespace_id)
        known = {build for name, build in space.checkpoints if name == JOBS} if space else set()
        gone = [key for key in self._jobs if key[0] == namespace_id and key[1] not in known]
        return sum(len(self._jobs.pop(key)) for key in gone)

    async def spaces_with_due_jobs(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> set[UUID]:
        """See `job_ports.JobQueue.spaces_with_due_jobs`."""
        now = self._clock.now()
        return {
            space
            for (space, _), kept in self._jobs.items()
            if space in namespace_ids and any(_is_due(job, kinds, now) for job in kept.values())
        }

    async def claim_jobs(
        self, namespace_id: UUID, build: int, *, by: str, kinds: Sequence[JobKind], lease_s: float, limit: int
    ) -> list[Job]:
        """See `job_ports.JobQueue.claim_jobs`."""
        kept, now = self._jobs.get((namespace_id, build), {}), self._clock.now()
        due = [job for job in kept.values() if _is_due(job, kinds, now)]
        claimed = [
            replace(
                job,
                attempts=job.attempts + (job.leased_by is None),
                leased_by=by,
                leased_until=now + timedelta(seconds=lease_s),
            )
            for job in sorted(due, key=_by_time)[:limit]
        ]
        kept.update({(job.stream_id, job.kind): job for job in claimed})
        return claimed

    async def renew_job(self, job: Job, *, lease_s: float) -> bool:
        """See `job_ports.JobQueue.renew_job`."""
        held = self._held(job)
        if held is None:
            return False
        self._put(replace(held, leased_until=self._clock.now() + timedelta(seconds=lease_s)))
        return True

    async def leave_job(self, job: Job, outcome: Outcome) -> None:
        """See `job_ports.JobQueue.leave_job`."""
        held = self._held(job)
        if held is None:
            return
        free = replace(held, leased_by=None, leased_until=None)
        if held.work == job.work:
            again = self._clock.now() + timedelta(seconds=outcome.retry_after_s)
            free = replace(
                free,
                attempts=held.attempts if outcome.counts else max(0, held.attempts - 1),
                due_at=max(held.due_at, again),
                last_error=outcome.error or held.last_error,
            )
        self._put(free)

    async def list_jobs(self, namespace_id: UUID, build: int, *, dead: bool = False, limit: int = 100) -> list[Job]:
        """See `job_ports.JobList.list_jobs`."""
        kept = sorted(self._jobs.get((namespace_id, build), {}).values(), key=_by_time)
        now = self._clock.now()
        return [
            job if job.leased_until is not None and job.leased_until > now else replace(job, leased_by=None)
            for job in kept
            if job.dead or not dead
        ][:limit]

    async def revive_jobs(self, namespace_id: UUID, build: int) -> int:
        """See `job_ports.JobList.revive_jobs`."""
        letters = [job for job in self._jobs.get((namespace_id, build), {}).values() if job.dead]
        for job in letters:
            self._put(replace(job, attempts=0, due_at=self._clock.now()))
        return len(letters)

    def _held(self, job: Job) -> Job | None:
        """Return the job as it is kept, if it is still whose it was."""
        kept = self._jobs.get((job.namespace_id, job.build), {}).get((job.stream_id, job.kind))
        return kept if kept is not None and kept.leased_by == job.leased_by is not None else None

    def _put(self, job: Job) -> None:
        self._jobs[job.namespace_id, job.build][job.stream_id, job.kind] = job


def _is_due(job: Job, kinds: Sequence[JobKind], now: datetime) -> bool:
    """Tell whether *job* may be claimed."""
    return (
        job.kind in kinds
        and job.due_at <= now
        and (job.leased_until is None or job.leased_until <= now)
        and (job.attempts < MOST_ATTEMPTS or job.leased_by is not None)
    )


def _anew(old: Job, new: Job) -> Job:
    if old.work != new.work:
        return replace(new, leased_by=old.leased_by, leased_until=old.leased_until)
    return replace(old, due_at=max(old.due_at, new.due_at) if old.attempts else new.due_at)


def _by_time(job: Job) -> tuple[object, ...]:
    return job.due_at, job.stream_id, job.kind
