"""What background work needs from a store, and the shapes that pass through.

Whether there is a job follows from the log: rows come and go only with the stored projection ``jobs``. Who is at it,
how often it was tried, and when it is tried again is kept beside, and is no history.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias, get_args
from uuid import UUID

import msgspec

from ledger.ids import Stream

#: The name of the stored projection, that of its checkpoints and its table.
JOBS: Final = "jobs"
JobKind: TypeAlias = Literal["compact", "extract", "promote", "index"]
KINDS: Final[tuple[JobKind, ...]] = get_args(JobKind)
#: A job that was begun so often and never done is a dead letter: nobody takes it, `jobs list` shows it (trust M-1).
MOST_ATTEMPTS: Final = 12


class DueJob(msgspec.Struct, frozen=True):
    """Work a session has, not before *due_at*; *work* is another text as soon as the work is another."""

    kind: JobKind
    work: str
    due_at: datetime


class SessionJobs(msgspec.Struct, frozen=True):
    """All the work of a session, at most one job of each kind."""

    stream: Stream
    jobs: tuple[DueJob, ...]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it is kept; *leased_by* says whose it is until *leased_until*."""

    namespace_id: UUID
    build: int
    stream_id: UUID
    user_id: str
    session_id: str
    kind: JobKind
    work: str
    due_at: datetime
    attempts: int = 0
    leased_until: datetime | None = None
    leased_by: str | None = None
    last_error: str | None = None

    @property
    def dead(self) -> bool:
        """Whether it is a dead letter, or is being tried for the last time."""
        return self.attempts >= MOST_ATTEMPTS

    @property
    def status(self) -> Literal["waiting", "taken", "dead"]:
        """What is to be expected of it: it waits for its time, somebody is at it, or nobody will be."""
        if self.leased_by is not None:
            return "taken"
        return "dead" if self.dead else "waiting"


class Outcome(msgspec.Struct, frozen=True):
    """What became of an attempt, should the job be there still.

    It is tried again after *retry_after_s*; one that does not *count* is as if it had never begun.
    """

    error: str | None = None
    retry_after_s: float = 0.0
    counts: bool = True


class JobIndexStore(Protocol):
    """The stored projection; *build* as in `indexes.Checkpoint`."""

    async def changed_sessions(
        self, namespace_id: UUID, projection: str, build: int, *, limit: int
    ) -> tuple[int, int, list[tuple[str, str]]]:
        """Return the position of a build, the one that *limit* events lead to, and the sessions among them.

        Sessions are (user_id, session_id). Streams that are no session (trust R-1) are not among them.
        """
        ...

    async def save_jobs(
        self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs], *, after: int, position: int
    ) -> int | None:
        """Put the jobs of *sessions* in place and note that *build* is folded up to *position*, in one transaction.

        A job with the same work keeps its attempts and the moment it is tried again; one with other work begins
        anew. Return the position reached. If *build* is not at *after* any more, somebody else was faster, and
        nothing is done; none if it is no build, or no longer one.
        """
        ...

    async def prune_jobs(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that are none any more; return how many."""
        ...


class JobQueue(Protocol):
    """Sharing the work: by the clock of the store, so that those of the workers need not agree."""

    async def spaces_with_due_jobs(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> set[UUID]:
        """Return those of the namespaces in which a claim may get a job, of whichever build."""
        ...

    async def claim_jobs(
        self, namespace_id: UUID, build: int, *, by: str, kinds: Sequence[JobKind], lease_s: float, limit: int
    ) -> list[Job]:
        """Take up to *limit* due jobs nobody is at, those due longest first; no two claims get the same.

        Each counts as an attempt, but for one that is taken over from a worker that died: however often workers are
        killed, their jobs do not become dead letters.
        """
        ...

    async def renew_job(self, job: Job, *, lease_s: float) -> bool:
        """Stay at *job* for *lease_s* more; false if it is no longer ours."""
        ...

    async def leave_job(self, job: Job, outcome: Outcome) -> None:
        """Let go of *job*; one that is no longer ours, or whose work is another now, takes no *outcome*."""
        ...


class JobList(Protocol):
    """Looking after jobs."""

    async def list_jobs(self, namespace_id: UUID, build: int, *, dead: bool = False, limit: int = 100) -> list[Job]:
        """Return jobs, those due longest first; only *dead* letters if asked. A lease that is over is not shown."""
        ...

    async def revive_jobs(self, namespace_id: UUID, build: int) -> int:
        """Let every dead letter be tried again, at once; return how many."""
        ...


class Housekeeping(Protocol):
    """What is done now and then."""

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        """Forget idempotency keys older than *days*, at least one (trust R-6); return how many."""
        ...


class JobStore(JobIndexStore, JobQueue, JobList, Housekeeping, Protocol):
    """Everything background work keeps beside its events."""
