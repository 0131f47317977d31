"""The list of sessions: a stored projection, caught up by each reader before it reads (style §4)."""

from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from msgspec.structs import replace

from ledger.errors import LogCorrupted, Unreadable
from ledger.events import StoredEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream, namespace_id
from ledger.history.batched_reads import BatchedReads
from ledger.history.fold_results import fold_digest
from ledger.history.state_loading import States
from ledger.indexes.stored_projections.builds import Builds
from ledger.indexes.stored_projections.catch_ups import BuildProgress, silent
from ledger.indexes.stored_projections.log_pages import read_page
from ledger.indexes.stored_projections.session_rows import next_row, row_of, unreadable_row
from ledger.indexes.stored_projections.session_runs import runs_of
from ledger.ports import Store
from ledger.ports.session_index import EVERY_SESSION, IndexedSession, SessionFilter
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState

VERSION: Final = 4  # raise it when a row's meaning changes: a new build is then made beside the old one


class SessionIndex:
    """Rows for the sessions of one namespace; a `builds.StoredProjection`."""

    name: Final = "session_index"
    version: Final = VERSION
    keeps: Final = "a row per session, and its runs, for listings"

    def __init__(
        self, store: Store, states: States[SessionState], builds: Builds, *, namespace: str, reads: BatchedReads
    ) -> None:
        self._store = store
        self._reads = reads
        self._states = states
        self._builds = builds
        self._namespace = namespace
        self._namespace_id = namespace_id(namespace)

    @cached_property
    def code_digest(self) -> bytes:
        """The digest of the folds and of the code that turns them into rows."""
        return fold_digest(self.name, self.version, SESSION.name)

    async def advance(self, build: int, *, after: int, limit: int) -> int | None:
        """See `builds.StoredProjection.advance`; a row may have the session's newest state, and so be ahead."""
        page = await read_page(self._store, self._namespace, after=after, limit=limit)
        older = [stream.stream_id for stream, events in page.sessions.items() if events[0].version > 1]
        keys = [(self._namespace_id, build, stream_id) for stream_id in older]
        before = await self._store.session_index.rows(keys) if keys else {}
        rows: list[IndexedSession] = []
        others: list[Coroutine[Any, Any, IndexedSession]] = []
        for stream, events in page.sessions.items():
            old = before.get(stream.stream_id)
            row = row_without_state(stream, old, events)
            if row is not None:
                rows.append(row)
            else:
                others.append(self._row_of_state(stream, old, events))
        rows += await self._reads.gather(others)
        return await self._store.session_index.save(
            self._namespace_id, build, rows, after=after, position=page.position
        )

    async def prune(self) -> int:
        """See `builds.StoredProjection.prune`."""
        return await self._store.session_index.prune(self._namespace_id)

    async def sessions(
        self,
        *,
        wanted: SessionFilter = EVERY_SESSION,
        after: tuple[datetime, UUID] | None,
        limit: int,
        progress: BuildProgress = silent,
    ) -> list[IndexedSession]:
        """Return sessions newest first, as of the newest event of the namespace.

        Raises:
            IndexBehind: the index was not caught up in time.
        """
        nothing: Sequence[IndexedSession] = ()

        async def listed(build: int) -> Sequence[IndexedSession]:
            return await self._store.session_index.page(
                self._namespace_id, build, wanted=wanted, after=after, limit=limit
            )

        rows = await self._builds.read(self, listed, empty=nothing, progress=progress)
        # this release may read what an older one could not
        return await self._reads.gather(self._read_again(row) for row in rows)

    async def rows(self, stream_ids: Sequence[UUID]) -> Mapping[UUID, IndexedSession]:
        """Return the rows of these sessions by stream id, as of the newest event of the namespace.

        Raises:
            IndexBehind: the index was not caught up in time.
        """
        nothing: Mapping[UUID, IndexedSession] = {}

        async def listed(build: int) -> Mapping[UUID, IndexedSession]:
            keys = [(self._namespace_id, build, stream_id) for stream_id in stream_ids]
            return await self._store.session_index.rows(keys) if keys else {}

        return await self._builds.read(self, listed, empty=nothing)

    async def _row_of_state(
        self, stream: Stream, before: IndexedSession | None, events: Sequence[StoredEvent]
    ) -> IndexedSession:
        try:
            state = await self._states.newest(stream)
            row = await self._states.view(stream, state, lambda: row_of(stream, state))
        except Unreadable:
            row = unreadable_row(stream, before, events)
        return replace(row, new_runs=tuple(runs_of(events).items()))

    async def _read_again(self, row: IndexedSession) -> IndexedSession:
        if row.status != "unreadable":
            return row
        stream = Stream.of(self._namespace, row.session_id, row.user_id)
        try:
            state = await self._states.newest(stream)
            found = await self._states.view(stream, state, lambda: row_of(stream, state))
        except Unreadable:
            return row
        return replace(found, forked_from=row.forked_from)


def row_without_state(
    stream: Stream, before: IndexedSession | None, events: Sequence[StoredEvent]
) -> IndexedSession | None:
    """Return the row of a session after *events*, or None if only its state tells it; see `session_rows.next_row`."""
    try:
        row = next_row(stream, before, map(decode, events))
    except LogCorrupted:
        return None
    return None if row is None else replace(row, new_runs=tuple(runs_of(events).items()))
