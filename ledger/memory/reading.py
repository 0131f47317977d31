"""Reading sessions: now, at a version, at a moment."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, Unpack, get_args
from uuid import UUID

from ledger import verify
from ledger.codec import decode
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import RecordedEvent
from ledger.memory.recording import Recording
from ledger.names import check_name
from ledger.ports.indexes import IndexedSession, LifeFilter, LifeStatus
from ledger.results import Context, Rendering, When
from ledger.session.drafts import check_moment
from ledger.session.state import SessionState, at_rest
from ledger.session.views import metrics_of, stats_of, window_of
from ledger.strict_json import check_integer
from projections.entries import Entry
from projections.history import HISTORY, History
from projections.projection import Projection
from projections.stats import Metrics, SessionStats
from projections.summaries import Summary

S = TypeVar("S")

PAGE_SESSIONS = 1_000  # trust N-6


class Reading(Recording):
    """Every method takes ``version`` or ``at``, a moment, to look back: it answers as it did then."""

    async def get_state(self, session_id: str, **when: Unpack[When]) -> SessionState:
        """Return the session's state now, at *version*, or at a moment.

        Raises:
            SessionNotFound: the session has no events.
            VersionNotFound: it has no such version, or had no events at that moment.
            InvalidInput: both were given, one is none, or *at* is without an offset.
        """
        unknown = when.keys() - When.__annotations__.keys()
        if unknown:
            raise InvalidInput("unknown_field", "reading takes version, at and user_id", field=min(unknown)[:80])
        version, at = when.get("version"), check_moment(when.get("at"), "at")
        if version is not None:
            check_integer(version, field="version")
            if at is not None:
                raise InvalidInput("bad_version", "give a version or a moment, not both", field="at")
        stream = self._stream(session_id, when.get("user_id"))
        return at_rest(await self._states.at(stream, version=version, moment=at))

    async def get_context(self, session_id: str, **how: Unpack[Rendering]) -> Context:
        """Return what the model is shown, as a structure; empty for an unknown session (R-000-16).

        With *record*, what is returned has been recorded as an event: `seen` proves it later. With an
        *idempotency_key* too, a retry gets what the first attempt was given.

        Raises:
            SessionNotFound: there is nothing to record.
            IdempotencyMismatch: the key belongs to another request.
        """
        when: When = {name: how[name] for name in ("version", "at", "user_id") if name in how}  # type: ignore[assignment]  # a part of it
        state = await self._state_or_empty(session_id, when)
        past = await self._is_past(session_id, state, when)
        hints = await self._finder.hints(
            self._stream(session_id, how.get("user_id")), state, how.get("query"), past=past
        )
        context = Context(session_id, state.version, window_of(state, hints), state.config)
        if not how.get("record"):
            return context
        if not state.version:
            raise SessionNotFound(session_id)
        return await self._record(self._stream(session_id, how.get("user_id")), context, how)

    async def _is_past(self, session_id: str, state: SessionState, when: When) -> bool:
        """Tell whether *state* was asked for as of then, and the session has gone on since."""
        if when.get("version") is None and when.get("at") is None:
            return False
        head, _ = await self._store.head(self._stream(session_id, when.get("user_id")))
        return state.version < head

    async def get_context_for_llm(self, session_id: str, **how: Unpack[Rendering]) -> str:
        """Return what the model is shown, as text; empty for an unknown session (R-000-12, R-000-16).

        Recorded, and raises, as `get_context` does.
        """
        return (await self.get_context(session_id, **how)).text

    async def get_active_entries(self, session_id: str, **when: Unpack[When]) -> list[Entry]:
        """Return the entries no compaction, removal or clear has taken away, oldest first."""
        return list((await self._state_or_empty(session_id, when)).window.entries)

    async def get_summaries(self, session_id: str, **when: Unpack[When]) -> list[Summary]:
        """Return the live summaries, oldest place first."""
        return list((await self._state_or_empty(session_id, when)).summaries.live)

    async def get_stats(self, session_id: str, **when: Unpack[When]) -> SessionStats:
        """Return the statistics; all zero for an unknown session (R-000-2, R-000-16)."""
        return stats_of(await self._state_or_empty(session_id, when))

    async def get_metrics(self, session_id: str, *, kind: str | None = None, **when: Unpack[When]) -> Metrics:
        """Return how much is remembered, all of it or what is of *kind*, and how often it was compacted (R-002-9).

        All zero for an unknown session.

        Raises:
            InvalidInput: ``bad_kind``: there is no such kind.
        """
        return metrics_of(await self._state_or_empty(session_id, when), kind)

    async def get_history(self, session_id: str, *, version: int | None = None, user_id: str | None = None) -> History:
        """Return every entry the session ever had and what became of it, and every summary ever made.

        Raises:
            SessionNotFound: the session has no events.
            VersionNotFound: it has no such version.
        """
        return await self.fold(session_id, HISTORY, version=version, user_id=user_id)

    async def fold(
        self, session_id: str, projection: Projection[S], *, version: int | None = None, user_id: str | None = None
    ) -> S:
        """Return *projection*, ours or the caller's, over the session's events up to a version.

        Raises:
            SessionNotFound: the session has no events.
            VersionNotFound: it has no such version.
        """
        stream = await self._existing(session_id, user_id, version=version)
        events = await self._store.read_stream(stream, until=version)
        return projection.fold(decode(event) for event in events)

    async def get_events(
        self,
        session_id: str,
        *,
        after_version: int = 0,
        limit: int | None = None,
        type: str | None = None,
        user_id: str | None = None,
    ) -> list[RecordedEvent]:
        """Return the session's events after a version, oldest first; of one *type*, if given.

        Raises:
            InvalidInput: ``bad_version`` or ``bad_limit``.
        """
        check_integer(after_version, field="after_version", code="bad_version", least=0)
        if limit is not None:
            check_integer(limit, field="limit", code="bad_limit", least=1)
        stored = await self._store.read_stream(
            self._stream(session_id, user_id), after=after_version, limit=limit if type is None else None
        )
        return [decode(event) for event in stored if type is None or event.type == type][:limit]

    async def list_sessions(
        self,
        *,
        user_id: str | None = None,
        status: LifeStatus | None = None,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        """Return the sessions of the namespace, newest first; those of a *status* as of now, if it is given.

        *after* takes time and id of the last row of the page before: ``(row.updated_at, row.stream_id)``.

        Raises:
            InvalidInput: ``bad_limit``, ``bad_cursor``, ``bad_name`` or ``bad_value``.
        """
        self._check_open()
        check_integer(limit, field="limit", code="bad_limit", least=1, most=PAGE_SESSIONS)
        if user_id is not None:
            check_name(user_id, field="user_id", may_be_empty=True)
        if after is not None:
            _check_cursor(after)
        if status is not None and status not in get_args(LifeStatus):
            raise InvalidInput("bad_value", f"is one of {', '.join(get_args(LifeStatus))}", field="status")
        life = None if status is None else LifeFilter(status, self._clock.now())
        return await self._index.sessions(user_id=user_id, life=life, after=after, limit=limit)

    async def verify(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> verify.Report:
        """Prove a session, or the whole namespace: recompute every hash and place (trust §12).

        Raises:
            SessionNotFound: the session has no events; without a head, which verify finds, it has them still.
        """
        self._check_open()
        if session_id is None:
            return await verify.verify_namespace(self._store, self._namespace, progress=progress)
        report = await verify.verify_session(self._store, self._stream(session_id, user_id))
        if report.ok and not report.checked:
            raise SessionNotFound(session_id)
        return report

    async def _state_or_empty(self, session_id: str, when: When) -> SessionState:
        """Return the state, or the empty one of an unknown session, which reads as zero (R-000-16)."""
        try:
            return await self.get_state(session_id, **when)
        except SessionNotFound:
            if when.get("version") is not None or when.get("at") is not None:
                raise
            return SessionState()


def _check_cursor(after: Any) -> None:
    match after:
        case (datetime(tzinfo=offset), UUID()) if offset is not None:
            return
        case _:
            raise InvalidInput("bad_cursor", "is time and id of the last row of a page", field="after")
