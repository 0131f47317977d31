"""Read what a projection makes of a session: now, at a version, at a moment.

A read loads the newest snapshot at or before the wanted version and folds the few events after it, so its
cost does not grow with the session (style §1, §4).
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, Generic, TypeVar

from ledger.errors import LogRolledBack, NotFound, SessionNotFound, VersionNotFound
from ledger.events import RecordedEvent
from ledger.events.chain import ZERO_HASH
from ledger.events.codec import decode_in_order
from ledger.events.ids import Stream
from ledger.history.page_cache import PageCache
from ledger.history.snapshot_format import SnapshotFormat, Versioned
from ledger.history.state_cache import STATES_B, CachedState, StateCache
from ledger.history.stored_snapshots import StoredSnapshots
from ledger.ports import Store
from projections.entry_page import PagesMissing

_PAGE: Final = 5_000
FIRST_AFTER_EVENTS = 128  # events of a session to its first snapshot: most sessions are short
EVERY_EVENTS = 64  # events from one snapshot to the next
QUEUED_EVENTS: Final = 32  # that wait for a reader of a session
CONTENT_B: Final = 16_000_000  # bytes of content in memory

S = TypeVar("S", bound=Versioned)
T = TypeVar("T")


class States(Generic[S]):
    """Reads states through a per-process cache.

    Each read applies the events after the cached state, found by an index, so it sees what other processes wrote.
    A cached state has the content of few entries: `reading` loads what a read of it needs, and *content_b* bytes of
    content, of all sessions, stay in memory. So do the *capacity* newest states, if they have *states_b* bytes.
    """

    def __init__(
        self,
        store: Store,
        form: SnapshotFormat[S],
        *,
        capacity: int = 256,
        content_b: int = CONTENT_B,
        states_b: int = STATES_B,
    ) -> None:
        self._store = store
        self._form = form
        self._projection = form.projection
        self._snapshots = StoredSnapshots(store, form)
        self._contents = PageCache(store, content_b)
        self._cache = StateCache(form.size_b, capacity=capacity, states_b=states_b)
        #: Whether the log was found to lack events that had been read or written here.
        self.saw_rollback = False

    async def current(self, stream: Stream) -> S:
        """Return the state of *stream* as it is in the log now, with all content; version 0 if it has no events.

        Raises:
            LogRolledBack: the log no longer has what was read of the session; the next read shows it as it is.
        """
        return await self.whole(stream, await self.newest(stream))

    async def newest(self, stream: Stream) -> S:
        """Return the state as `current` does, but without content; read it in `reading` only."""
        cached = self._cache.get(stream)
        if cached is None:
            state, snapshot_version, digest = await self._load(stream, None)
            return self._keep(stream, state, snapshot_version, digest)
        queued, digest = tuple(cached.queued), cached.digest
        state, digest = await self._catch_up(stream, await self._fold(stream, cached.state, queued), digest, None)
        return self._keep(stream, state, cached.snapshot_version, digest)

    async def known(self, stream: Stream, version: int = 0) -> S | None:
        """Return the cached state, without content, if it is at *version* or later.

        Other processes may have written newer events.
        """
        cached = self._cache.get(stream)
        if cached is None or cached.version < version:
            return None
        if not cached.queued:
            return cached.state
        queued, digest = tuple(cached.queued), cached.digest
        return self._keep(stream, await self._fold(stream, cached.state, queued), cached.snapshot_version, digest)

    def folded(self, stream: Stream, version: int = 0) -> tuple[S, Sequence[RecordedEvent]] | None:
        """Return the cached state as it is, and the newer events that are queued, if they end at *version* or later."""
        cached = self._cache.get(stream)
        return None if cached is None or cached.version < version else (cached.state, cached.queued)

    def queue(
        self, stream: Stream, events: Sequence[RecordedEvent], digest: bytes, *, follows: bytes | None = None
    ) -> bool:
        """Let *events*, just appended, wait for a reader; return False if they have to `advance` the state."""
        cached = self._cache.get(stream)
        if cached is None:
            return False
        version = cached.version
        if version >= events[-1].version:  # it was read from the log meanwhile, or the log went back
            return version > events[-1].version or _is_same(cached.digest, digest)
        if (
            events[0].version != version + 1
            or not _is_same(cached.digest, follows)
            or events[-1].version - cached.state.version > QUEUED_EVENTS
            or events[-1].version - cached.snapshot_version >= EVERY_EVENTS
            or not self._form.may_wait(cached.state, events)
        ):
            return False
        cached.queued.extend(events)
        cached.digest = digest
        self._cache.used(stream)
        return True

    async def advance(
        self, stream: Stream, events: Sequence[RecordedEvent], digest: bytes, *, follows: bytes | None = None
    ) -> S:
        """Return the state after *events*, which are in the log, without content.

        *digest* is the hash of the last of them, *follows* that of the event before the first, if it is known. If they
        do not follow the cached state, read the log.
        """
        cached = self._cache.get(stream) or CachedState(self._projection.initial, 0)
        is_next = bool(events) and events[0].version == cached.version + 1
        if not (is_next and _is_same(cached.digest, follows)):
            try:
                return await self.newest(stream)
            except LogRolledBack:  # what was cached is forgotten now; the events are stored, so this must not fail
                return await self.newest(stream)
        state = await self._fold(stream, cached.state, (*cached.queued, *events))
        return self._keep(stream, state, cached.snapshot_version, digest)

    async def digest(self, stream: Stream, version: int) -> bytes:
        """Return the hash of the event at *version* of *stream*; that of no event is zero.

        Raises:
            LogRolledBack: the log no longer has that version.
        """
        if not version:
            return ZERO_HASH
        cached = self._cache.get(stream)
        if cached is not None and cached.version == version and cached.digest is not None:
            return cached.digest
        found = await self._store.events.read_versions(stream, ((version, version),))
        if not found:
            raise self._rolled_back()
        return found[0].hash

    async def at(self, stream: Stream, *, version: int | None = None, moment: datetime | None = None) -> S:
        """Return the state as of *version*, or of the newest version recorded at or before *moment*, with all content.

        Raises:
            SessionNotFound: the session has no events.
            VersionNotFound: no such version, or *moment* is before the first event.
        """
        return await self.whole(stream, await self.past(stream, version=version, moment=moment))

    async def past(self, stream: Stream, *, version: int | None = None, moment: datetime | None = None) -> S:
        """Return the state as `at` does, but without content; read it in `reading` only."""
        if moment is not None:
            version = await self._store.events.version_at(stream, moment)
        if version is None:
            state = await self.newest(stream)
        elif version < 1:
            state = self._projection.initial
        else:
            cached = await self.known(stream)
            if cached is not None and cached.version == version:
                return cached
            state, _, _ = await self._load(stream, version)
        if version is None and not state.version:
            raise SessionNotFound(stream.session_id)  # even if it has begun since
        if not state.version or version not in {None, state.version}:
            raise await self.absence(stream, moment)
        return state

    async def whole(self, stream: Stream, state: S) -> S:
        """Return *state* with all content, which stays."""
        return await self.view(stream, state, lambda: self._form.whole(state)) if self._form.pages(state) else state

    async def view(self, stream: Stream, state: S, read: Callable[[], T]) -> T:
        """Return the result of the pure *read* of *state*; it runs again when content that it needs was loaded."""

        async def attempt() -> T:
            return read()

        return await self.reading(stream, state, attempt)

    async def reading(self, stream: Stream, state: S, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of *read*, a read of *state*; it runs again when content that it needs was loaded."""
        return await self._contents.reading(stream, lambda: self._form.pages(state), read)

    async def absence(self, stream: Stream, moment: datetime | None = None) -> NotFound:
        """Return the error for a version that *stream* does not have, or for a *moment* before its first event."""
        head, _ = await self._store.events.head(stream)
        if not head:
            return SessionNotFound(stream.session_id)
        if moment is not None:
            return VersionNotFound("the session had no events at that moment")
        return VersionNotFound(f"the session has versions 1 to {head}")

    def snapshot_due(self, stream: Stream) -> tuple[S, bytes] | None:
        """Return the cached state and the hash of its newest event if a snapshot is due; only the first call does."""
        cached = self._cache.get(stream)
        if cached is None or not self._is_due(cached.state, last=cached.snapshot_version):
            return None
        if cached.digest is None or cached.queued:  # the hash is not known, or that of a queued event
            return None
        self._keep(stream, cached.state, cached.state.version, cached.digest)
        return cached.state, cached.digest

    async def save_due_snapshot(self, stream: Stream) -> None:
        """Store a snapshot of the cached state if one is due and no other process has stored one."""
        due = self.snapshot_due(stream)
        if due is None:
            return
        found = await self._snapshots.newest(stream)
        if self._is_due(due[0], last=found.version if found else 0):
            await self.save_snapshot(stream, *due)

    async def save_snapshot(self, stream: Stream, state: S, digest: bytes) -> None:
        """Store *state* as a snapshot; *digest* is the hash of its newest event."""
        await self._snapshots.save(stream, state, digest)

    def _is_due(self, state: S, *, last: int) -> bool:
        # style §4
        return state.version - last >= (EVERY_EVENTS if last else FIRST_AFTER_EVENTS)

    async def _load(self, stream: Stream, version: int | None) -> tuple[S, int, bytes | None]:
        """Return the state now or at *version*, the version of the snapshot it was read from, or 0, and its hash."""
        found, events = await self._snapshots.load(stream, until=version, limit=_PAGE)
        at = found.version if found is not None else 0
        state = await self._snapshots.restored(stream, found, events or ())
        if events is None or (found is not None and not state.version):
            at = state.version
            known = found.head_hash if found is not None and state.version else None
            state, digest = await self._catch_up(stream, state, known, version)
            return state, at, digest
        tail = [stored for stored in events if stored.version > at]
        folded = await self._fold(stream, state, decode_in_order(tail, after=at))
        digest = events[-1].hash if events and events[-1].version == folded.version else None
        if len(events) == _PAGE:
            folded, digest = await self._catch_up(stream, folded, digest, version)
        return folded, at, digest

    async def _catch_up(
        self, stream: Stream, state: S, digest: bytes | None, until: int | None
    ) -> tuple[S, bytes | None]:
        """Return *state* after the events that follow it, and the hash of the newest; *digest* is that of *state*.

        The newest event that *state* knows is read again, to notice that the log went back.
        """
        while until is None or state.version < until:
            known = min(state.version, 1)
            page = await self._store.events.read_stream(
                stream, after=state.version - known, until=until, limit=_PAGE + known
            )
            if known:
                newest = page[0] if page and page[0].version == state.version else None
                if newest is None or digest not in {None, newest.hash}:
                    self._cache.drop(stream)
                    raise self._rolled_back()
                digest = newest.hash
            following = page[known:]
            state = await self._fold(stream, state, decode_in_order(following, after=state.version))
            digest = following[-1].hash if following else digest
            if len(following) < _PAGE:
                break
            self._contents.hold(self._form.pages(state))
            self._contents.trim()
        return state, digest

    def _rolled_back(self) -> LogRolledBack:
        self.saw_rollback = True
        return LogRolledBack()

    async def _fold(self, stream: Stream, state: S, events: Sequence[RecordedEvent]) -> S:
        if not events:
            return state
        try:
            return self._projection.fold(events, state)
        except PagesMissing:
            return await self.view(stream, state, lambda: self._projection.fold(events, state))

    def _keep(self, stream: Stream, state: S, snapshot_version: int, digest: bytes | None) -> S:
        """Cache *state*, whose newest event has the hash *digest*, unless a newer one came; return the newest."""
        before = self._cache.get(stream)
        kept = self._cache.keep(stream, state, snapshot_version, digest)
        if before is None or self._form.pages(kept) is not self._form.pages(before.state):
            self._contents.hold(self._form.pages(kept))
        return kept


def _is_same(known: bytes | None, before: bytes | None) -> bool:
    """Tell whether two hashes are those of one event, as far as they are known."""
    return known is None or before is None or known == before
