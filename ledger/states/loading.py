"""Read states of sessions: now, at a version, at a moment.

A read loads the newest snapshot at or before the wanted version and folds the few events after it, so its
cost does not grow with the session (design §2, §6).
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime

import msgspec

from ledger.codec import decode
from ledger.errors import LogCorrupted, NotFound, SessionNotFound, VersionNotFound
from ledger.events import RecordedEvent
from ledger.ids import Stream
from ledger.ports import Store
from ledger.ports.snapshots import Snapshot
from ledger.session.state import SESSION, SessionState, evolve
from ledger.states import snapshots

_PAGE = 5_000


class _Cached(msgspec.Struct, frozen=True):
    state: SessionState
    snapshot_version: int


class States:
    """Reads states through a per-process cache.

    Each read applies the events after the cached state, found by an index, so it sees what other processes wrote.
    """

    def __init__(self, store: Store, *, capacity: int = 256) -> None:
        self._store = store
        self._capacity = capacity
        # by the id's number, which hashes at once
        self._cache: OrderedDict[int, _Cached] = OrderedDict()

    async def current(self, stream: Stream) -> SessionState:
        """Return the state of *stream* as it is in the log now; version 0 if it has no events."""
        cached = self._cache.get(stream.stream_id.int) or await self._load(stream, None)
        state = await self._catch_up(stream, cached.state, None)
        return self._keep(stream, state, cached.snapshot_version)

    def known(self, stream: Stream) -> SessionState | None:
        """Return the cached state; other processes may have written newer events."""
        cached = self._cache.get(stream.stream_id.int)
        return cached.state if cached else None

    async def advance(self, stream: Stream, events: Sequence[RecordedEvent]) -> SessionState:
        """Return the state after *events*, which were just appended; if there is a gap before them, read the log."""
        cached = self._cache.get(stream.stream_id.int)
        state = cached.state if cached else SESSION.initial
        if not events or events[0].version != state.version + 1:
            return await self.current(stream)
        return self._keep(stream, SESSION.fold(events, state), cached.snapshot_version if cached else 0)

    async def at(self, stream: Stream, *, version: int | None = None, moment: datetime | None = None) -> SessionState:
        """Return the state as of *version*, or of the newest version recorded at or before *moment*.

        Raises:
            SessionNotFound: the session has no events.
            VersionNotFound: no such version, or *moment* is before the first event.
        """
        if moment is not None:
            version = await self._store.events.version_at(stream, moment)
        if version is None:
            state = await self.current(stream)
        elif version < 1:
            state = SESSION.initial
        else:
            cached = self.known(stream)
            if cached is not None and cached.version == version:
                return cached
            state = await self._catch_up(stream, (await self._load(stream, version)).state, version)
        if not state.version or version not in {None, state.version}:
            raise await self.absence(stream, moment)
        return state

    async def absence(self, stream: Stream, moment: datetime | None = None) -> NotFound:
        """Return the error for a version that *stream* does not have, or for a *moment* before its first event."""
        head, _ = await self._store.events.head(stream)
        if not head:
            return SessionNotFound(stream.session_id)
        if moment is not None:
            return VersionNotFound("the session had no events at that moment")
        return VersionNotFound(f"the session has versions 1 to {head}")

    def snapshot_due(self, stream: Stream) -> SessionState | None:
        """Return the cached state if a snapshot of it is due, else None; only the first call returns it."""
        cached = self._cache.get(stream.stream_id.int)
        if cached is not None and snapshots.is_due(cached.state, last=cached.snapshot_version):
            self._keep(stream, cached.state, cached.state.version)
            return cached.state
        return None

    async def save_snapshot(self, stream: Stream, state: SessionState) -> None:
        """Store *state* as a snapshot."""
        await self._store.snapshots.save(
            stream,
            Snapshot(
                SESSION.name,
                SESSION.version,
                state.version,
                snapshots.code_digest(),
                snapshots.dehydrate(state),
            ),
        )

    async def _load(self, stream: Stream, version: int | None) -> _Cached:
        """Return the state of the newest usable snapshot at or before *version*, or the initial one."""
        found = await self._store.snapshots.load(stream, SESSION.name, SESSION.version, at_most=version)
        if found is None or found.code_digest != snapshots.code_digest():
            return _Cached(SESSION.initial, 0)
        try:
            stored = snapshots.load(found.state)
        except msgspec.MsgspecError:
            return _Cached(SESSION.initial, 0)
        events = [decode(event) for event in await self._store.events.read_versions(stream, stored.needed)]
        return _Cached(snapshots.hydrate(stored, events), found.version)

    async def _catch_up(self, stream: Stream, state: SessionState, until: int | None) -> SessionState:
        while until is None or state.version < until:
            page = await self._store.events.read_stream(stream, after=state.version, until=until, limit=_PAGE)
            for stored in page:
                if stored.version != state.version + 1:
                    raise LogCorrupted(f"version {state.version + 1} is missing; run `memory-ledger verify`")
                state = evolve(state, decode(stored))
            if len(page) < _PAGE:
                break
        return state

    def _keep(self, stream: Stream, state: SessionState, snapshot_version: int) -> SessionState:
        """Cache *state* unless a newer one came meanwhile; return the newest."""
        cached = self._cache.get(stream.stream_id.int)
        if cached is not None:
            state = max(state, cached.state, key=lambda each: each.version)
            snapshot_version = max(snapshot_version, cached.snapshot_version)
        self._cache[stream.stream_id.int] = _Cached(state, snapshot_version)
        self._cache.move_to_end(stream.stream_id.int)
        while len(self._cache) > self._capacity:
            self._cache.popitem(last=False)
        return state
