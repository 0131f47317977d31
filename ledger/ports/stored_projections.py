"""Builds of stored projections: how far each has folded its namespace, and which build readers use."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

import msgspec

from ledger.events import StoredEvent


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How far one build of a stored projection has folded its namespace (design §6).

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
        """Return the namespace's last position, and its builds by projection and number; at first 0 and no builds."""
        ...

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        """Return the progress of each namespace that has events."""
        ...

    async def read_ranges(
        self, namespace_id: UUID, ranges: Sequence[tuple[UUID, int, int]], *, each: int
    ) -> list[StoredEvent]:
        """Return events of many streams by (stream id, first version, last version), in this order.

        Of a range the first *each*; of a fork only its own events.
        """
        ...

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        """Record that *build* is being built, from position 0; do nothing if it exists."""
        ...

    async def claim(self, namespace_id: UUID, projection: str, build: int, *, by: str, lease_s: float) -> bool:
        """Let *by* alone fold a build for the next *lease_s* seconds; return False if another one may.

        The claim saves work; it protects nothing, since `advance` writes no page twice. A build that does not exist
        cannot be claimed.
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
