"""Read sessions: now, at a version, at a moment."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, Unpack, get_args
from uuid import UUID

from ledger.application.handle import NamespaceHandle
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events.names import check_beginning, check_name
from ledger.events.strict_json import check_integer
from ledger.ports.session_index import IndexedSession, LifeFilter, LifeStatus, SessionFilter
from ledger.results import When
from ledger.session.entry_drafts import check_time
from ledger.session.evolve import end_of_batch
from ledger.session.key_value_drafts import check_key
from ledger.session.state import SessionState
from ledger.session.views import metrics_of, stats_of
from projections.entries import Entry
from projections.log.history import HISTORY, History, PastEntry
from projections.projection import Projection
from projections.stats import MemoryMetrics, SessionStats
from projections.summaries import Summary
from projections.values.ranges import contains

S = TypeVar("S")

PAGE_SESSIONS = 1_000  # trust N-6


async def get_state(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> SessionState:
    """Return the session's state now, at *version*, or at a moment.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version, or had no events at that moment.
        InvalidInput: both were given, one is None, or *at* has no offset.
    """
    state = await _past(handle, session_id, when)
    stream = handle.stream(session_id, when.get("user_id"))
    return end_of_batch(await handle.services.states.whole(stream, state))


async def existing_state(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> SessionState:
    """Return the state as `get_state` does, but without content; read its entries in `States.reading` only.

    Raises:
        SessionNotFound, VersionNotFound, InvalidInput: as `get_state` does.
    """
    state = await _past(handle, session_id, when)
    stream = handle.stream(session_id, when.get("user_id"))
    return await handle.services.states.view(stream, state, lambda: end_of_batch(state))


async def get_active_entries(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> list[Entry]:
    """Return the entries that no compaction, removal or clear took out of the window, oldest first."""
    return list((await state_or_empty(handle, session_id, when)).window.entries)


async def get_summaries(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> list[Summary]:
    """Return the live summaries, oldest place first."""
    return list((await partial_state(handle, session_id, when)).summaries.live)


async def get_stats(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> SessionStats:
    """Return the statistics; all zero for an unknown session."""
    state = await partial_state(handle, session_id, when)
    stream = handle.stream(session_id, when.get("user_id"))
    return await handle.services.states.view(stream, state, lambda: stats_of(state))


async def get_metrics(
    handle: NamespaceHandle, session_id: str, *, kind: str | None = None, **when: Unpack[When]
) -> MemoryMetrics:
    """Return how much is remembered, of all kinds or of one *kind*, and how often it was compacted.

    All zero for an unknown session.

    Raises:
        InvalidInput: ``bad_kind``: there is no such kind.
    """
    state = await partial_state(handle, session_id, when)
    stream = handle.stream(session_id, when.get("user_id"))
    return await handle.services.states.view(stream, state, lambda: metrics_of(state, kind))


async def get_history(
    handle: NamespaceHandle, session_id: str, *, version: int | None = None, user_id: str | None = None
) -> History:
    """Return every entry the session ever had and what became of it, and every summary it ever had.

    It reads all events, so it costs more the longer the session is.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version.
    """
    return await fold(handle, session_id, HISTORY, version=version, user_id=user_id)


async def fold(
    handle: NamespaceHandle,
    session_id: str,
    projection: Projection[S],
    *,
    version: int | None = None,
    user_id: str | None = None,
) -> S:
    """Return *projection*, ours or the caller's, over the session's events up to a version.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version.
    """
    return projection.fold(await handle.events(session_id, user_id, version=version))


def active_entries(state: SessionState) -> list[PastEntry]:
    """Return the active entries of *state*, oldest first, with the live summaries that cover them."""
    overlays = sorted((each for each in state.summaries.live if each.covered), key=lambda summary: summary.version)
    return [
        PastEntry.of(
            entry, summary_ids=tuple(each.summary_id for each in overlays if contains(each.covered, entry.version))
        )
        for entry in state.window.entries
    ]


async def list_sessions(
    handle: NamespaceHandle,
    *,
    user_id: str | None = None,
    status: LifeStatus | None = None,
    id_part: str | None = None,
    id_prefix: str | None = None,
    user_prefix: str | None = None,
    run_id: str | None = None,
    updated_after: datetime | str | None = None,
    updated_before: datetime | str | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 100,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[IndexedSession]:
    """Return the sessions of the namespace, newest first.

    If given, only those of a user, with a *status* now, with *id_part* in their ids as it is written, with ids that
    begin with *id_prefix*, of users whose ids begin with *user_prefix*, or last written after or before a moment. A
    page by a prefix looks at all sessions with that prefix, and at no others.

    With *run_id*, only those in which a run of an agent wrote: an entry, also one that was removed since, has it as
    ``run_id`` in its metadata, or the session has it as a key of the space ``runs`` of kept values. Forks made after
    that are sessions of the run too. A page looks at all sessions of the run, and at no others.

    *after* is the time and id of the last row of the page before: ``(row.updated_at, row.stream_id)``. The first
    listing of a namespace reads its whole log; *progress* gets (position reached, last position) after each page of it.

    Raises:
        InvalidInput: ``bad_limit``, ``bad_cursor``, ``bad_name``, ``bad_key``, ``bad_time`` or ``bad_value``.
    """
    handle.services.check_open()
    check_integer(limit, field="limit", code="bad_limit", least=1, most=PAGE_SESSIONS)
    if user_id is not None:
        check_name(user_id, field="user_id", may_be_empty=True)
    if after is not None:
        _check_cursor(after)
    if status is not None and status not in get_args(LifeStatus):
        raise InvalidInput("bad_value", f"must be one of {', '.join(get_args(LifeStatus))}", field="status")
    wanted = SessionFilter(
        user_id=user_id,
        life=None if status is None else LifeFilter(status, handle.services.clock.now()),
        id_part=None if id_part is None else check_name(id_part, field="id_part"),
        id_prefix=None if id_prefix is None else check_beginning(id_prefix, field="id_prefix"),
        user_prefix=None if user_prefix is None else check_beginning(user_prefix, field="user_prefix"),
        run_id=None if run_id is None else check_key(run_id, field="run_id"),
        updated_after=check_time(updated_after, "updated_after"),
        updated_before=check_time(updated_before, "updated_before"),
    )
    return await handle.indexes.sessions.sessions(wanted=wanted, after=after, limit=limit, progress=progress)


def check_when(when: When) -> tuple[int | None, datetime | None]:
    """Return the version and the moment in *when*; both are None for now.

    Raises:
        InvalidInput: both were given, one is None, *at* has no offset, or there is another key.
    """
    unknown = when.keys() - When.__annotations__.keys()
    if unknown:
        raise InvalidInput("unknown_field", "reading takes version, at and user_id", field=min(unknown)[:80])
    version, at = when.get("version"), check_time(when.get("at"), "at")
    if version is not None:
        check_integer(version, field="version")
        if at is not None:
            raise InvalidInput("bad_version", "give a version or a moment, not both", field="at")
    return version, at


async def state_or_empty(handle: NamespaceHandle, session_id: str, when: When) -> SessionState:
    """Return the state; the empty one for an unknown session."""
    state = await partial_state(handle, session_id, when)
    return await handle.services.states.whole(handle.stream(session_id, when.get("user_id")), state)


async def partial_state(handle: NamespaceHandle, session_id: str, when: When) -> SessionState:
    """Return the state as `state_or_empty` does, but without content; read it in `States.reading` only."""
    try:
        return await existing_state(handle, session_id, **when)
    except SessionNotFound:
        if when.get("version") is not None or when.get("at") is not None:
            raise
        return SessionState()


async def _past(handle: NamespaceHandle, session_id: str, when: When) -> SessionState:
    version, at = check_when(when)
    stream = handle.stream(session_id, when.get("user_id"))
    return await handle.services.states.past(stream, version=version, moment=at)


def _check_cursor(after: Any) -> None:
    match after:
        case (datetime(tzinfo=offset), UUID()) if offset is not None:
            return
        case _:
            raise InvalidInput("bad_cursor", "must be the time and the id of the last row of a page", field="after")
