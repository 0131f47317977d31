"""The index of sessions: the stored projection that lists them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias
from uuid import UUID

import msgspec

from ledger.events import ForkedFrom
from ledger.ports.projection_store import FoldedPage

#: The name of the stored projection, of its checkpoints and its table.
SESSION_INDEX: Final = "session_index"


class IndexedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the session index; *status* is ``unreadable`` if this release cannot fold the session.

    *forked_from* is not in the index: a page of sessions adds it. *new_runs* are the runs that the events folded with a
    row name, each with the version of the first event that does: they are stored, but no row that is read has them.
    """

    stream_id: UUID
    user_id: str
    session_id: str
    version: int
    status: Literal["live", "ended", "unreadable"]  # expiry follows from the clock: see `status_at`
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    entries: int
    active: int
    summaries: int
    total_tokens: int
    active_tokens: int
    failed_compactions: int = 0
    last_failure: str | None = None
    failing_since: datetime | None = None
    failing_model: str | None = None
    forked_from: ForkedFrom | None = None
    new_runs: tuple[tuple[str, int], ...] = ()

    def status_at(self, moment: datetime) -> "SessionStatus":
        """Return the status at *moment*: a session expires by the clock alone."""
        expired = self.status == "live" and self.expires_at is not None and self.expires_at <= moment
        return "expired" if expired else self.status


LifeStatus: TypeAlias = Literal["live", "expired", "ended"]
SessionStatus: TypeAlias = Literal["live", "expired", "ended", "unreadable"]


class LifeFilter(msgspec.Struct, frozen=True):
    """List only sessions with *status* at *moment*, since expiry follows from the clock (http W-20)."""

    status: LifeStatus
    moment: datetime


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list: of a user, in a status, last written between two moments, by a text in their ids.

    *id_prefix* and *user_prefix* are what the ids of the sessions and of their users begin with, by code point.
    *run_id* is the id of a run that an event of the session names, or of a fork an event before the fork.
    """

    user_id: str | None = None
    life: LifeFilter | None = None
    id_part: str | None = None
    id_prefix: str | None = None
    user_prefix: str | None = None
    run_id: str | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None


EVERY_SESSION: Final = SessionFilter()

#: Namespace, build and stream of a row.
RowKey: TypeAlias = tuple[UUID, int, UUID]


class SessionIndexStore(Protocol):
    """The stored projection ``session_index``; *build* as in `stored_projections.Checkpoint`."""

    async def rows(self, wanted: Sequence[RowKey]) -> dict[UUID, IndexedSession]:
        """Return the rows of these sessions, by stream id; sessions without a row are left out."""
        ...

    async def runs(self, wanted: Sequence[RowKey]) -> dict[UUID, dict[str, int]]:
        """Return the runs that the own events of these sessions name, with the version of the first, by stream id.

        Sessions without runs are left out.
        """
        ...

    async def save(
        self, namespace_id: UUID, build: int, rows: Sequence[IndexedSession], *, after: int, position: int
    ) -> int | None:
        """Store *rows* and record that *build* is folded up to *position*, in one transaction.

        Return the position reached. If *build* is no longer at *after*, another process was faster and nothing is
        written. Return None if the build does not exist (any more). A row never replaces that of a newer version.
        Of a run that is stored already, the version stays.
        """
        ...

    async def save_all(self, pages: Iterable[FoldedPage[IndexedSession]], *, begin_as: bytes) -> dict[UUID, int | None]:
        """Save pages of several namespaces as `save` does, in one transaction; return the positions reached.

        The builds of namespaces that have none begin, live, with *begin_as* as code digest.
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist and return how many."""
        ...

    async def page_of_live(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        """Return the number of live sessions that have not expired at *moment*, and the *limit* newest of them.

        Sessions updated at the same time are in session id order. *builds* gives the build to read, by namespace.
        """
        ...

    async def page(
        self,
        namespace_id: UUID,
        build: int,
        *,
        wanted: SessionFilter = EVERY_SESSION,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        """Return rows, newest first, then by stream id; *after* is the last row of the page before."""
        ...
