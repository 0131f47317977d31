"""Snapshots: the state of a projection at a version of a stream. They are caches and can be deleted."""

from collections.abc import Sequence
from typing import Final, Protocol
from uuid import UUID

import msgspec

from ledger.events import UndecodedEvent
from ledger.events.ids import Stream

NO_OTHERS: Final = 2**62


class Snapshot(msgspec.Struct, frozen=True):
    """The stored state of a projection at a version, and the hash of the event at that version."""

    projection: str
    projection_version: int
    version: int
    code_digest: bytes
    head_hash: bytes
    state: bytes


class SnapshotStore(Protocol):
    """Stored states, so that reads do not slow down as a session grows.

    A snapshot that others could have changed, and that nothing proves, is not returned (trust K-1).
    """

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        """Return the newest snapshot at or before version *at_most*; for a fork it may be a parent's."""
        ...

    async def newest(
        self, namespace_id: UUID, stream_ids: Sequence[UUID], projection: str, projection_version: int
    ) -> dict[UUID, Snapshot | None]:
        """Return the newest snapshot of each stream, or None; forks, which may use a parent's, are left out."""
        ...

    async def load_with_events(
        self,
        stream: Stream,
        projection: str,
        projection_version: int,
        *,
        at_most: int | None = None,
        before: int = 0,
        limit: int,
    ) -> tuple[Snapshot | None, Sequence[UndecodedEvent] | None]:
        """Return the snapshot as `load` does and, in the same round trip, the events around it, oldest first.

        These are the *limit* oldest events of the *before* newest versions that the snapshot covers and of the
        versions after it up to *at_most*. They are None if they must be read apart: those of a fork, and those of a
        session whose newest snapshot nothing proves.
        """
        ...

    async def save(self, stream: Stream, snapshot: Snapshot, *, since: int = NO_OTHERS) -> None:
        """Store *snapshot* in place of one at its version, and of those from version *since* up to it."""
        ...
