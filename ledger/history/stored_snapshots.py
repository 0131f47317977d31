"""Snapshots of one projection: written with its release, and used only if the log has what they were folded from."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from ledger.errors import Unreadable
from ledger.events import StoredEvent, UndecodedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.fold_results import fold_digest
from ledger.history.snapshot_format import SnapshotFormat, Versioned
from ledger.ports import Store
from ledger.ports.snapshot_store import Snapshot
from projections.values.ranges import union, versions

LASTING_EVENTS = 200  # versions of which only the newest snapshot stays, for reads of the past

S = TypeVar("S", bound=Versioned)


class StoredSnapshots(Generic[S]):
    """The snapshots that a store has of states in *form*."""

    def __init__(self, store: Store, form: SnapshotFormat[S]) -> None:
        self._store = store
        self._form = form
        self._projection = form.projection
        self._code_digest = fold_digest(form.projection.name, form.projection.version)

    async def save(self, stream: Stream, state: S, digest: bytes) -> None:
        """Store *state* as a snapshot; *digest* is the hash of its newest event."""
        fold = self._projection
        dumped = self._form.dump(state)
        snapshot = Snapshot(fold.name, fold.version, state.version, self._code_digest, digest, dumped)
        since = state.version - state.version % LASTING_EVENTS
        await self._store.snapshots.save(stream, snapshot, since=since)

    async def newest(self, stream: Stream) -> Snapshot | None:
        """Return the newest snapshot if this release can use it."""
        fold = self._projection
        found = await self._store.snapshots.load(stream, fold.name, fold.version)
        return found if found is not None and found.code_digest == self._code_digest else None

    async def load(
        self, stream: Stream, *, until: int | None, limit: int
    ) -> tuple[Snapshot | None, Sequence[UndecodedEvent] | None]:
        """Return the newest snapshot at or before *until*, whether it can be used or not, and at most *limit* events.

        The events are those around and after it; None if they take another read.
        """
        fold = self._projection
        return await self._store.snapshots.load_with_events(
            stream, fold.name, fold.version, at_most=until, before=max(1, self._form.before), limit=limit
        )

    async def restored(self, stream: Stream, found: Snapshot | None, events: Sequence[UndecodedEvent]) -> S:
        """Return the state of the snapshot *found*, the initial one if it is of another release or another log.

        Its newest pages have content, as far as *events* hold it.
        """
        if found is None or found.code_digest != self._code_digest:
            return self._projection.initial
        near = {event.version: event for event in events if event.version <= found.version}
        newest: UndecodedEvent | StoredEvent | None = near.get(found.version)
        try:
            needed, hydrate = self._form.load(found.state)
            if newest is None:
                needed = union([needed, ((found.version, found.version),)])
            read = await self._store.events.read_versions(stream, needed) if needed else []
            if newest is None:
                newest = next((event for event in reversed(read) if event.version == found.version), None)
            if newest is None or newest.hash != found.head_hash:  # the log does not have what was folded
                return self._projection.initial
            state = hydrate(map(decode, read))
        except (Unreadable, msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError, AssertionError):
            return self._projection.initial  # however it was mangled, the log can be read without it
        if state.version != found.version:
            return self._projection.initial
        for page in reversed(self._form.pages(state)):
            wanted = list(versions(page.needed))
            if not near.keys() >= set(wanted):
                break
            page.fill({version: decode(near[version]) for version in wanted})
        return state
