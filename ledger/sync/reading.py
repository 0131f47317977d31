"""What reads: state, contexts, the log, listings."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar, Unpack
from uuid import UUID

from ledger.context_audit import Derived, Seen
from ledger.events import RecordedEvent
from ledger.history.log import EntryRecord, LoggedEvent, LogPage
from ledger.ports.session_index import IndexedSession, LifeStatus
from ledger.replay.stored_projections import BuildStatus, RebuiltProjection, StoredProjectionInfo
from ledger.results import (
    Context,
    Rendering,
    When,
)
from ledger.session.state import SessionState
from ledger.sync.calling import Calling
from projections.entries import Entry
from projections.history import History
from projections.projection import Projection
from projections.stats import Metrics, SessionStats
from projections.summaries import Summary

S = TypeVar("S")


class Reading(Calling):
    """What reads: state, contexts, the log, listings."""

    def get_state(self, session_id: str, **when: Unpack[When]) -> SessionState:
        """See `MemoryLedger.get_state`."""
        return self._call(self._ledger.get_state, session_id, **when)

    def get_context(self, session_id: str, **how: Unpack[Rendering]) -> Context:
        """See `MemoryLedger.get_context`."""
        return self._call(self._ledger.get_context, session_id, **how)

    def get_context_for_llm(self, session_id: str, **how: Unpack[Rendering]) -> str:
        """See `MemoryLedger.get_context_for_llm`."""
        return self._call(self._ledger.get_context_for_llm, session_id, **how)

    def seen(self, session_id: str, **when: Unpack[When]) -> Seen:
        """See `MemoryLedger.seen`."""
        return self._call(self._ledger.seen, session_id, **when)

    def derived(self, session_id: str, entry_id: str | int, *, user_id: str | None = None) -> Derived:
        """See `MemoryLedger.derived`."""
        return self._call(self._ledger.derived, session_id, entry_id, user_id=user_id)

    def get_entry(self, session_id: str, entry_id: str, *, user_id: str | None = None) -> EntryRecord:
        """See `MemoryLedger.get_entry`."""
        return self._call(self._ledger.get_entry, session_id, entry_id, user_id=user_id)

    def get_log(
        self,
        session_id: str,
        *,
        after_version: int = 0,
        limit: int = 100,
        type: str | None = None,
        user_id: str | None = None,
    ) -> LogPage:
        """See `MemoryLedger.get_log`."""
        return self._call(
            self._ledger.get_log, session_id, after_version=after_version, limit=limit, type=type, user_id=user_id
        )

    def get_feed(self, *, after: int = 0, limit: int = 100) -> list[LoggedEvent]:
        """See `MemoryLedger.get_feed`."""
        return self._call(self._ledger.get_feed, after=after, limit=limit)

    def matches_replay(self, session_id: str, *, user_id: str | None = None) -> bool:
        """See `MemoryLedger.matches_replay`."""
        return self._call(self._ledger.matches_replay, session_id, user_id=user_id)

    def stored_projections(self) -> list[StoredProjectionInfo]:
        """See `MemoryLedger.stored_projections`."""
        return self._ledger.stored_projections()

    def projection_builds(self) -> list[BuildStatus]:
        """See `MemoryLedger.projection_builds`."""
        return self._call(self._ledger.projection_builds)

    def rebuild_projections(
        self,
        name: str | None = None,
        *,
        progress: Callable[[str, int, int], None] = lambda name, done, total: None,
    ) -> list[RebuiltProjection]:
        """See `MemoryLedger.rebuild_projections`."""
        return self._call(self._ledger.rebuild_projections, name, progress=progress)

    def get_active_entries(self, session_id: str, **when: Unpack[When]) -> list[Entry]:
        """See `MemoryLedger.get_active_entries`."""
        return self._call(self._ledger.get_active_entries, session_id, **when)

    def get_summaries(self, session_id: str, **when: Unpack[When]) -> list[Summary]:
        """See `MemoryLedger.get_summaries`."""
        return self._call(self._ledger.get_summaries, session_id, **when)

    def get_stats(self, session_id: str, **when: Unpack[When]) -> SessionStats:
        """See `MemoryLedger.get_stats`."""
        return self._call(self._ledger.get_stats, session_id, **when)

    def get_metrics(self, session_id: str, *, kind: str | None = None, **when: Unpack[When]) -> Metrics:
        """See `MemoryLedger.get_metrics`."""
        return self._call(self._ledger.get_metrics, session_id, kind=kind, **when)

    def get_history(self, session_id: str, *, version: int | None = None, user_id: str | None = None) -> History:
        """See `MemoryLedger.get_history`."""
        return self._call(self._ledger.get_history, session_id, version=version, user_id=user_id)

    def fold(
        self, session_id: str, projection: Projection[S], *, version: int | None = None, user_id: str | None = None
    ) -> S:
        """See `MemoryLedger.fold`."""
        return self._call(self._ledger.fold, session_id, projection, version=version, user_id=user_id)

    def get_events(
        self,
        session_id: str,
        *,
        after_version: int = 0,
        limit: int | None = None,
        type: str | None = None,
        user_id: str | None = None,
    ) -> list[RecordedEvent]:
        """See `MemoryLedger.get_events`."""
        return self._call(
            self._ledger.get_events,
            session_id,
            after_version=after_version,
            limit=limit,
            type=type,
            user_id=user_id,
        )

    def list_sessions(
        self,
        *,
        user_id: str | None = None,
        status: LifeStatus | None = None,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        """See `MemoryLedger.list_sessions`."""
        return self._call(self._ledger.list_sessions, user_id=user_id, status=status, after=after, limit=limit)
