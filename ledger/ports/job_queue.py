"""Background work: the jobs that are due, and the workers that hold them.

Which jobs exist follows from the log: only the stored projection ``jobs`` adds and deletes rows. The lease, the
attempts and the time of the next one are stored with the row and are not part of the history.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias, get_args
from uuid import UUID

import msgspec

from ledger.events.ids import Stream

#: The name of the stored projection, of its checkpoints and its table.
JOBS: Final = "jobs"
JobKind: TypeAlias = Literal["compact", "extract", "promote", "index", "summarize"]
KINDS: Final[tuple[JobKind, ...]] = get_args(JobKind)
#: A job that was started this often and never finished is a dead letter: no worker takes it, and `jobs list` shows
#: it (trust M-1).
MOST_ATTEMPTS: Final = 12


class DueJob(msgspec.Struct, frozen=True):
    """Work of a session, to do from *due_at* on; *work* is a text that changes when the work changes."""

    kind: JobKind
    work: str
    due_at: datetime


class SessionJobs(msgspec.Struct, frozen=True):
    """All jobs of a session, at most one of each kind."""

    stream: Stream
    jobs: tuple[DueJob, ...]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A stored job; the worker *leased_by* holds it until *leased_until*."""

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
        """Whether it is a dead letter, or in its last attempt."""
        return self.attempts >= MOST_ATTEMPTS

    @property
    def status(self) -> Literal["waiting", "taken", "dead"]:
        """Whether it waits, a worker holds it, or no worker will take it."""
        if self.leased_by is not None:
            return "taken"
        return "dead" if self.dead else "waiting"


class JobBacklog(msgspec.Struct, frozen=True):
    """The jobs of a kind: how many are due, how long the longest due one has been, in seconds, and the dead ones."""

    kind: JobKind
    due: int
    oldest_s: float
    dead: int


class JobOutcome(msgspec.Struct, frozen=True):
    """The result of an attempt at a job that still exists.

    The job is tried again after *retry_after_s* seconds. With *counts* false the attempt is not counted.
    """

    error: str | None = None
    retry_after_s: float = 0.0
    counts: bool = True


class JobStore(Protocol):
    """The stored projection ``jobs`` and the queue that workers share; *build* as in `stored_projections.Checkpoint`.

    All times are by the store's clock, so the clocks of the workers need not agree.
    """

    async def save(
        self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs], *, after: int, position: int
    ) -> int | None:
        """Replace the jobs of *sessions* and record that *build* is folded up to *position*, in one transaction.

        A job with the same work keeps its attempts and the time of its next one; a job with other work starts
        anew. Return the position reached. If *build* is no longer at *after*, another process was faster and
        nothing is written. Return None if the build does not exist (any more).
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist and return how many."""
        ...

    async def namespaces_due(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> set[UUID]:
        """Return the namespaces in which a claim may get a job, of any build."""
        ...

    async def backlog(self, namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> list[JobBacklog]:
        """Return the backlog of the namespaces together, for each of *kinds* of which there are jobs, of any build."""
        ...

    async def claim(
        self, namespace_id: UUID, build: int, *, by: str, kinds: Sequence[JobKind], lease_s: float, limit: int
    ) -> list[Job]:
        """Lease up to *limit* due jobs that no worker holds, the longest due first; no two claims get the same job.

        Each counts as an attempt, except a job whose worker died: killing workers never makes a dead letter.
        """
        ...

    async def renew(self, job: Job, *, lease_s: float) -> bool:
        """Extend the lease of *job* by *lease_s* seconds; return False if another worker holds it now."""
        ...

    async def release(self, job: Job, outcome: JobOutcome) -> None:
        """End the lease of *job* with an *outcome*, ignored if another worker holds it or its work has changed."""
        ...

    async def page(self, namespace_id: UUID, build: int, *, dead: bool = False, limit: int = 100) -> list[Job]:
        """Return jobs, the longest due first, with *dead* only dead letters. A lease that ended is not shown."""
        ...

    async def revive(self, namespace_id: UUID, build: int) -> int:
        """Make every dead letter due now and return how many."""
        ...
