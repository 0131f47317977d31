"""Background work: which jobs there are, and who works on them.

Whether there is a job follows from the log: rows come and go only with the stored projection ``jobs``. Who works on a
job, how often it was tried, and when it is tried again is stored beside, and is no history.
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
#: A job that was started so often and never finished is a dead letter: nobody takes it, and `jobs list` shows it
#: (trust M-1).
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
    """A stored job; *leased_by* is the worker that has it until *leased_until*."""

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
        """Whether it waits for its time, a worker has it, or nobody will take it."""
        if self.leased_by is not None:
            return "taken"
        return "dead" if self.dead else "waiting"


class JobOutcome(msgspec.Struct, frozen=True):
    """The result of an attempt, for a job that still exists.

    The job is tried again after *retry_after_s*; an attempt that does not *count* is as if it had never started.
    """

    error: str | None = None
    retry_after_s: float = 0.0
    counts: bool = True


class JobStore(Protocol):
    """The stored projection ``jobs`` and the queue that workers share; *build* as in `stored_projections.Checkpoint`.

    Times are by the clock of the store, so that those of the workers need not agree.
    """

    async def save(
        self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs], *, after: int, position: int
    ) -> int | None:
        """Put the jobs of *sessions* in place and record that *build* is folded up to *position*, in one transaction.

        A job with the same work keeps its attempts and the moment it is tried again; one with other work starts
        anew. Return the position reached. If *build* is no longer at *after*, another process was faster, and
        nothing is done; none if there is no such build, or no longer.
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist; return how many."""
        ...

    async def namespaces_due(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> set[UUID]:
        """Return those of the namespaces in which a claim may get a job, of whichever build."""
        ...

    async def claim(
        self, namespace_id: UUID, build: int, *, by: str, kinds: Sequence[JobKind], lease_s: float, limit: int
    ) -> list[Job]:
        """Take up to *limit* due jobs that no worker has, those due longest first; no two claims get the same.

        Each counts as an attempt, except one that is taken over from a worker that died: however often workers are
        killed, their jobs do not become dead letters.
        """
        ...

    async def renew(self, job: Job, *, lease_s: float) -> bool:
        """Extend the lease of *job* by *lease_s*; false if another worker has it now."""
        ...

    async def release(self, job: Job, outcome: JobOutcome) -> None:
        """Give *job* back with its *outcome*, which is ignored if another worker has it or its work has changed."""
        ...

    async def page(self, namespace_id: UUID, build: int, *, dead: bool = False, limit: int = 100) -> list[Job]:
        """Return jobs, those due longest first; only *dead* letters if asked. A lease that is over is not shown."""
        ...

    async def revive(self, namespace_id: UUID, build: int) -> int:
        """Let every dead letter be tried again, at once; return how many."""
        ...
