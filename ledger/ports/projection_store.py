"""Builds of stored projections: how far each has folded its namespace, and which build readers use."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar
from uuid import UUID

import msgspec

from ledger.events import StoredEvent

Row = TypeVar("Row")


class Place(NamedTuple):
    """A build, and the position that it is folded up to."""

    build: int
    after: int


class FoldedPage(NamedTuple, Generic[Row]):
    """The rows that a page of a namespace's log changes: *build*, which was at *after*, is then at *position*."""

    namespace_id: UUID
    build: int
    after: int
    position: int
    rows: Sequence[Row]


class NamedEvent(NamedTuple):
    """An event, and the user and the session whose stream it is in."""

    user_id: str
    session_id: str
    event: StoredEvent


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How far one build of a stored projection has folded its namespace (style §4).

    *build* is the number its rows are stored under, see `builds.Build`; *code_digest* (32 bytes) identifies the
    code that started it. *last_error* says why the event after *position* cannot be folded, None if nobody found that.
    """

    projection: str
    build: int
    position: int
    status: Literal["building", "live"]
    code_digest: bytes
    updated_at: datetime
    last_error: str | None = None


class ProjectionStore(Protocol):
    """The builds of stored projections. Several can exist side by side; readers use a live one."""

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        """Return the namespace's last position, and its builds by projection and number; at first 0 and no builds.

        The position is read last, so no build is beyond it.
        """
        ...

    async def progress_of_all(
        self, namespace_ids: Sequence[UUID], projection: str
    ) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        """Return the last position of each namespace that has events, and its builds of *projection*."""
        ...

    async def read_ranges(
        self, namespace_id: UUID, ranges: Sequence[tuple[UUID, int, int]], *, each: int
    ) -> list[StoredEvent]:
        """Return events of many streams by (stream id, first version, last version), in this order.

        Of a range the first *each*; of a fork only its own events.
        """
        ...

    async def read_namespaces(
        self, after: Mapping[UUID, int], *, limit: int, most_bytes: int
    ) -> dict[UUID, list[NamedEvent]]:
        """Return the next events of several namespaces in one read, by namespace, in position order.

        Of each namespace up to *limit* events after its position in *after*; all together end with the event whose
        payload brings them to *most_bytes*, so the last namespaces may get fewer or none.
        """
        ...

    async def begin_build(
        self,
        namespace_id: UUID,
        projection: str,
        build: int,
        code_digest: bytes,
        *,
        status: Literal["building", "live"] = "building",
    ) -> None:
        """Record that *build* is being built, or live, from position 0; do nothing if it exists."""
        ...

    async def claim(
        self, namespace_id: UUID, projection: str, build: int, *, after: int, by: str, lease_s: float
    ) -> bool:
        """Let *by* alone fold the page of a build after a position for the next *lease_s* seconds.

        Return False if another one may, or if the build is not at that position.
        The claim saves work; it protects nothing, since `advance` writes no page twice. It ends when a page is
        stored, and by itself. A build that does not exist cannot be claimed.
        """
        ...

    async def note_failure(self, namespace_id: UUID, projection: str, build: int, *, position: int, error: str) -> None:
        """Record why *build* does not go on after *position*, until it does; do nothing if it went on."""
        ...

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        """Make *build* live and delete the builds it *replaces*, in one transaction.

        Do nothing if *build* was deleted meanwhile. The rows of replaced builds stay until they are pruned.
        """
        ...
