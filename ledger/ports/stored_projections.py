"""Builds of stored projections: how far each has folded its namespace, and which one readers use."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

import msgspec


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How far one build of a stored projection has folded its namespace (design §6).

    *build* is the number its rows are stored under, see `builds.Build`; *code_digest* (32 bytes) tells which code
    started it.
    """

    projection: str
    build: int
    position: int
    status: Literal["building", "live"]
    code_digest: bytes
    updated_at: datetime


class ProjectionStore(Protocol):
    """The builds of stored projections; several lie side by side, readers use a live one."""

    async def progress(self, namespace_id: UUID) -> tuple[int, list[Checkpoint]]:
        """Return the namespace's last position, and its builds by projection and number; 0 and none at first."""
        ...

    async def progress_of_all(self, namespace_ids: Sequence[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        """Return the progress of those of many namespaces in which anything was ever appended."""
        ...

    async def begin_build(self, namespace_id: UUID, projection: str, build: int, code_digest: bytes) -> None:
        """Record that *build* is being built, from position 0; one that exists already stays as it is."""
        ...

    async def changed_sessions(
        self, namespace_id: UUID, projection: str, build: int, *, limit: int | None = None
    ) -> tuple[int, int, list[tuple[str, str]]]:
        """Return the position of a build, the one that *limit* events lead to, and the sessions among them.

        Sessions are (user_id, session_id). Streams that are no session (trust R-1) are not among them.
        """
        ...

    async def go_live(self, namespace_id: UUID, projection: str, build: int, *, replaces: Sequence[int] = ()) -> None:
        """Let readers use *build*, and forget the builds it *replaces*, in one transaction.

        Does nothing if *build* was forgotten meanwhile; the rows of those replaced are left to be pruned.
        """
        ...
