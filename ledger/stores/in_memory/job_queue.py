"""Background work in memory."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from ledger.ports import Clock
from ledger.ports.job_queue import JOBS, MOST_ATTEMPTS, Job, JobBacklog, JobKind, JobOutcome, SessionJobs
from ledger.stores.in_memory.namespace_rows import StoredNamespace


class InMemoryJobs:
    """See `ports.jobs.JobStore`; nothing is awaited, so no caller sees a part of a change."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._jobs: dict[tuple[UUID, int], dict[tuple[UUID, JobKind], Job]] = {}

    async def save(
        self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs], *, after: int, position: int
    ) -> int | None:
        namespace = self._namespaces.get(namespace_id)
        built = namespace.checkpoints.get((JOBS, build)) if namespace else None
        if namespace is None or built is None or built.position != after:
            return built.position if built else None
        jobs = self._jobs.setdefault((namespace_id, build), {})
        for session_jobs in sessions:
            before = {key: jobs.pop(key) for key in list(jobs) if key[0] == session_jobs.stream.stream_id}
            for due in session_jobs.jobs:
                new = Job(
                    namespace_id=namespace_id,
                    build=build,
                    stream_id=session_jobs.stream.stream_id,
                    user_id=session_jobs.stream.user_id,
                    session_id=session_jobs.stream.session_id,
                    kind=due.kind,
                    work=due.work,
                    due_at=due.due_at,
                )
                old = before.get((session_jobs.stream.stream_id, due.kind))
                jobs[session_jobs.stream.stream_id, due.kind] = new if old is None else _anew(old, new)
        if position > built.position:
            namespace.checkpoints[JOBS, build] = replace(
                built, position=position, updated_at=self._clock.now(), last_error=None
            )
        return position

    async def prune(self, namespace_id: UUID) -> int:
        namespace = self._namespaces.get(namespace_id)
        known = {build for name, build in namespace.checkpoints if name == JOBS} if namespace else set()
        unused = [key for key in self._jobs if key[0] == namespace_id and key[1] not in known]
        return sum(len(self._jobs.pop(key)) for key in unused)

    async def namespaces_due(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> set[UUID]:
        now = self._clock.now()
        return {
            namespace_id
            for (namespace_id, _), jobs in self._jobs.items()
            if namespace_id in namespace_ids and any(_is_due(job, kinds, now) for job in jobs.values())
        }

    async def backlog(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> list[JobBacklog]:
        now = self._clock.now()
        found: dict[JobKind, list[Job]] = {}
        for (namespace_id, _), jobs in self._jobs.items():
            for job in jobs.values() if namespace_id in namespace_ids else ():
                found.setdefault(job.kind, []).append(job)
        return [
            JobBacklog(
                kind,
                due=len(due := [job.due_at for job in jobs if job.status != "dead" and job.due_at <= now]),
                oldest_s=(now - min(due, default=now)).total_seconds(),
                dead=sum(job.status == "dead" for job in jobs),
            )
            for kind, jobs in sorted(found.items())
            if kind in kinds
        ]

    async def claim(
        self, namespace_id: UUID, build: int, *, by: str, kinds: Sequence[JobKind], lease_s: float, limit: int
    ) -> list[Job]:
        jobs, now = self._jobs.get((namespace_id, build), {}), self._clock.now()
        due = [job for job in jobs.values() if _is_due(job, kinds, now)]
        claimed = [
            replace(
                job,
                attempts=job.attempts + (job.leased_by is None),
                leased_by=by,
                leased_until=now + timedelta(seconds=lease_s),
            )
            for job in sorted(due, key=_by_time)[:limit]
        ]
        jobs.update({(job.stream_id, job.kind): job for job in claimed})
        return claimed

    async def renew(self, job: Job, *, lease_s: float) -> bool:
        held = self._held(job)
        if held is None:
            return False
        self._put(replace(held, leased_until=self._clock.now() + timedelta(seconds=lease_s)))
        return True

    async def release(self, job: Job, outcome: JobOutcome) -> None:
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

    async def page(self, namespace_id: UUID, build: int, *, dead: bool = False, limit: int = 100) -> list[Job]:
        jobs = sorted(self._jobs.get((namespace_id, build), {}).values(), key=_by_time)
        now = self._clock.now()
        return [
            job if job.leased_until is not None and job.leased_until > now else replace(job, leased_by=None)
            for job in jobs
            if job.dead or not dead
        ][:limit]

    async def revive(self, namespace_id: UUID, build: int) -> int:
        letters = [job for job in self._jobs.get((namespace_id, build), {}).values() if job.dead]
        for job in letters:
            self._put(replace(job, attempts=0, due_at=self._clock.now()))
        return len(letters)

    def _held(self, job: Job) -> Job | None:
        """Return the stored job if the same worker still holds it."""
        jobs = self._jobs.get((job.namespace_id, job.build), {}).get((job.stream_id, job.kind))
        return jobs if jobs is not None and jobs.leased_by == job.leased_by is not None else None

    def _put(self, job: Job) -> None:
        self._jobs[job.namespace_id, job.build][job.stream_id, job.kind] = job


def _is_due(job: Job, kinds: Sequence[JobKind], now: datetime) -> bool:
    """Return whether *job* may be claimed."""
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
