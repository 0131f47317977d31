"""Snapshots: the state of a projection at a version of a stream. They are caches and can be deleted."""

from typing import Protocol

import msgspec

from ledger.ids import Stream


class Snapshot(msgspec.Struct, frozen=True):
    """The stored state of a projection at a version."""

    projection: str
    projection_version: int
    version: int
    code_digest: bytes
    state: bytes


class SnapshotStore(Protocol):
    """Stored states, so that reads do not slow down as a session grows."""

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        """Return the newest snapshot at or before version *at_most*; for a fork it may be a parent's."""
        ...

    async def save(self, stream: Stream, snapshot: Snapshot) -> None:
        """Store *snapshot*, replacing one at the same version."""
        ...
