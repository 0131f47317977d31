"""The list of sessions: a stored projection, caught up by each reader before it reads (design §6)."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Final
from uuid import UUID

from ledger.errors import Unreadable
from ledger.events import to_datetime
from ledger.ids import Stream, namespace_id
from ledger.ports import Store
from ledger.ports.session_index import SESSION_INDEX, IndexedSession, LifeFilter
from ledger.session.state import SESSION, SessionState
from ledger.session.views import stats_of
from ledger.states.fold_results import fold_digest
from ledger.states.loading import States
from ledger.stored_projections.builds import Builds

VERSION: Final = 2  # raise it when a row's meaning changes: a new build is then made beside the old one


class SessionIndex:
    """Rows for the sessions of one namespace; a `builds.StoredProjection`."""

    name: Final = "session_index"
    version: Final = VERSION
    keeps: Final = "a row per session, for listings"

    def __init__(self, store: Store, states: States[SessionState], builds: Builds, *, namespace: str) -> None:
        self._store = store
        self._states = states
        self._builds = builds
        self._namespace = namespace
        self._namespace_id = namespace_id(namespace)

    @cached_property
    def code_digest(self) -> bytes:
        """The digest of the folds and of the code that turns them into rows."""
        return fold_digest(self.name, self.version, SESSION.name)

    async def advance(self, build: int, *, limit: int) -> int | None:
        """See `builds.StoredProjection.advance`; a row has the session's newest state, so it may be ahead."""
        _, position, changed = await self._store.projections.changed_sessions(
            self._namespace_id, SESSION_INDEX, build, limit=limit
        )
        rows = [await self._row(Stream.of(self._namespace, session, user)) for user, session in changed]
        return position if await self._store.session_index.save(self._namespace_id, build, position, rows) else None

    async def prune(self) -> int:
        """See `builds.StoredProjection.prune`."""
        return await self._store.session_index.prune(self._namespace_id)

    async def sessions(
        self, *, user_id: str | None, after: tuple[datetime, UUID] | None, limit: int, life: LifeFilter | None = None
    ) -> list[IndexedSession]:
        """Return sessions newest first, as of the newest event of the namespace."""
        nothing: Sequence[IndexedSession] = ()

        async def listed(build: int) -> Sequence[IndexedSession]:
            return await self._store.session_index.page(
                self._namespace_id, build, user_id=user_id, life=life, after=after, limit=limit
            )

        # this release may read what an older one could not
        return [
            await self._row(Stream.of(self._namespace, row.session_id, row.user_id))
            if row.status == "unreadable"
            else row
            for row in await self._builds.read(self, listed, empty=nothing)
        ]

    async def build(self) -> int:
        """Return the build to read, as of the namespace's newest event; 0 if the namespace has no events."""
        return await self._builds.catch_up(self) or 0

    async def _row(self, stream: Stream) -> IndexedSession:
        try:
            return row_of(stream, await self._states.current(stream))
        except Unreadable:
            return await self._row_unread(stream)

    async def _row_unread(self, stream: Stream) -> IndexedSession:
        """Return the row of a session that this release cannot fold, so that the list stays complete."""
        version, _ = await self._store.events.head(stream)
        first, last = await self._store.events.read_versions(stream, ((1, 1), (version, version)))
        return IndexedSession(
            stream_id=stream.stream_id,
            user_id=stream.user_id,
            session_id=stream.session_id,
            version=version,
            status="unreadable",
            created_at=to_datetime(first.recorded_us),
            updated_at=to_datetime(last.recorded_us),
            entries=0,
            active=0,
            summaries=0,
            total_tokens=0,
            active_tokens=0,
        )


def row_of(stream: Stream, state: SessionState) -> IndexedSession:
    """Return the index row of a session in *state*."""
    stats = stats_of(state)
    return IndexedSession(
        stream_id=stream.stream_id,
        user_id=stream.user_id,
        session_id=stream.session_id,
        version=state.version,
        status="live" if state.opened else "ended",
        created_at=to_datetime(state.created_us),
        updated_at=to_datetime(state.updated_us),
        expires_at=state.working.expires_at,
        entries=stats.total_entries,
        active=stats.active_entries,
        summaries=stats.summaries,
        total_tokens=stats.total_tokens,
        active_tokens=stats.active_tokens,
    )
