"""Snapshots: the state of a projection at a version of a stream. They are caches and may be dropped."""

from typing import Protocol

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
    """Stored states, so that reading costs no more as a session grows."""

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        """Return the newest snapshot at or before version *at_most*; of a fork it may be one of a parent."""
        ...

    async def save(self, stream: Stream, snapshot: Snapshot) -> None:
        """Store *snapshot*, in place of one at the same version."""
        ...
