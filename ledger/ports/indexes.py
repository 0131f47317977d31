"""What stored projections need from the store: snapshots, builds and their checkpoints, the index of sessions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias
from uuid import UUID

import msgspec

from ledger.ids import Stream


class Snapshot(msgspec.Struct, frozen=True):
    """A stored state of a projection at a version; a cache."""

    projection: str
    projection_version: int
    version: int
    code_digest: bytes
    state: bytes


class SnapshotStore(Protocol):
    """Keeping states, so that reading costs no more as a session grows."""

    async def load_snapshot(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        """Return the newest snapshot at or before version *at_most*; of a fork it may be one of a parent."""
        ...

    async def save_snapshot(self, stream: Stream, snapshot: Snapshot) -> None:
        """Keep *snapshot*, in place of one at the same version."""
        ...


class IndexedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the session index; *status* is ``live``, ``ended``, or ``unreadable`` here."""

    stream_id: UUID
    user_id: str
    session_id: str
    version: int
    status: Literal["live", "ended", "unreadable"]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    entries: int
    active: int
    summaries: int
    total_tokens: int
    active_tokens: int


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How far one build of a stored projection has folded its namespace (DESIGN §6).

    *build* is the number its rows are kept under, see `builds.Build`; *code_digest* (32 bytes) tells which code
    began it.
    """

    projection: str
    build: int
    position: int
    status: Literal["building", "live"]
    code_digest: bytes
    updated_at: datetime


class CheckpointStore(Protocol):
    """The builds of stored projections; several lie side by side, readers use a live one."""

    async def projection_progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        """Return the namespace's last position, and its builds by projection and number; 0 and none at first."""
        ...

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        """Return the progress of those of many namespaces in which anything was ever appended."""
        ...

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        """Note that *build* is being built, from position 0; one that is there already stays as it is."""
        ...

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        """Let readers use *build*, and forget the builds it *replaces*, in one transaction.

        Does nothing if *build* was forgotten meanwhile; the rows of those replaced are left to be pruned.
        """
        ...


LifeStatus: TypeAlias = Literal["live", "expired", "ended"]


class LifeFilter(msgspec.Struct, frozen=True):
    """Which sessions are listed: those with *status* as of *moment*, for expiry follows from the clock (http W-20)."""

    status: LifeStatus
    moment: datetime


class SessionIndexStore(Protocol):
    """The stored projection behind listings; *build* as in `Checkpoint`."""

    async def index_progress(
        self, namespace_id: UUID, build: int, *, limit: int | None = None
    ) -> tuple[int, list[tuple[str, str]]]:
        """Return the position that *limit* events lead to, and the sessions among them as (user_id, session_id).

        Streams that are no session (trust R-1) are not among them.
        """
        ...

    async def save_index(self, namespace_id: UUID, build: int, position: int, rows: Sequence[IndexedSession]) -> bool:
        """Put *rows* in place and note that the index is folded up to *position*, in one transaction.

        Return false, and write nothing, if *build* is none, or no longer one.
        """
        ...

    async def prune_index(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that are none any more; return how many."""
        ...

    async def live_index(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        """Return how many sessions live and have not expired at *moment*, and the *limit* newest, then by session id.

        *builds* are those to look in, by namespace.
        """
        ...

    async def list_index(
        self,
        namespace_id: UUID,
        build: int,
        *,
        user_id: str | None = None,
        life: LifeFilter | None = None,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        """Return rows newest first, then by stream id; *after* is the last row of the page before."""
        ...
