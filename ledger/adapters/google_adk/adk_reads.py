"""Read sessions of Google ADK from the ledger: their state, events and lists. Source: adapters GA-1."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from ledger.adapters.google_adk.adk_events import event_of
from ledger.adapters.google_adk.adk_state import (
    ABOUT,
    APP,
    SEPARATOR,
    USER,
    AdkNames,
    app_names,
    original,
    session_names,
    state_of,
    user_names,
)
from ledger.adapters.large_items import with_large_values
from ledger.adapters.sdk_sessions import list_all_sessions
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import partial_state
from ledger.application.reading.transcript import read_transcript
from ledger.application.session_start import starts_life
from ledger.errors import NotFound
from ledger.events import JsonObject, to_datetime
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession
from ledger.results import When
from ledger.session.state import SessionState

_FIRST_READ: Final = 64


class StoredAdkSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with the SDK's own names, its merged state, events as JSON and time of update; its *version* here."""

    user_id: str
    session_id: str
    state: JsonObject
    events: list[JsonObject]
    updated: float
    version: int


class EventLimits(msgspec.Struct, frozen=True):
    """Which events to read: the newest *last*, of those from the time *since* on."""

    last: int | None = None
    since: float | None = None


ALL_EVENTS: Final = EventLimits()
NO_EVENTS: Final = EventLimits(last=0)


async def read_session(
    ledger: MemoryLedger,
    names: AdkNames,
    shared: JsonObject,
    *,
    limits: EventLimits = ALL_EVENTS,
    when: When | None = None,
) -> StoredAdkSession | None:
    """Return the session with *names* as it is or was, and *shared* state merged into its own; None if there is none.

    Raises:
        VersionNotFound, InvalidInput: as `MemoryLedger.get_state` does.
    """
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    state = await partial_state(handle, names.session_id, {**(when or {}), "user_id": names.user_id})
    if not state.opened or starts_life(handle, state):
        return None
    events, newest = await _events(handle, names, state, limits)
    about = about_of(state)
    return StoredAdkSession(
        user_id=original(names.user_id.partition(SEPARATOR)[2], about, "user_id"),
        session_id=original(names.session_id, about, "session_id"),
        state={**state_of(state.working.data), **shared},
        events=events,
        updated=float(about.get("created", 0) if newest is None else newest.get("timestamp", 0)),
        version=state.version,
    )


async def read_shared(ledger: MemoryLedger, app_name: str, user_id: str, at: datetime | None = None) -> JsonObject:
    """Return the state of the app and of the user, now or at a moment, with the prefixes of its keys."""
    user, app = user_names(app_name, user_id), app_names(app_name)
    return await read_state(ledger, app, APP, at) | await read_state(ledger, user, USER, at)


async def read_state(ledger: MemoryLedger, names: AdkNames, prefix: str = "", at: datetime | None = None) -> JsonObject:
    """Return the state that is in one session of the ledger, now or at a moment."""
    when: When = {"user_id": names.user_id} if at is None else {"user_id": names.user_id, "at": at}
    try:
        return state_of(await ledger.get_data(names.session_id, **when), prefix)
    except NotFound:  # it began later, or never
        return {}


async def moment_of(ledger: MemoryLedger, names: AdkNames, version: int) -> datetime:
    """Return when *version* of a session was recorded.

    Raises:
        SessionNotFound, VersionNotFound: there is no such version.
    """
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    stream = handle.stream(names.session_id, names.user_id)
    stored = await handle.services.store.events.read_versions(stream, ((version, version),))
    if not stored:
        raise await handle.services.states.absence(stream)
    return to_datetime(stored[0].recorded_us)


async def list_stored(ledger: MemoryLedger, app_name: str, user_id: str | None) -> list[StoredAdkSession]:
    """Return the sessions of an app, of one user or of all, without events; those updated last at the end."""
    found: list[StoredAdkSession] = []
    shared: dict[str, JsonObject] = {}
    app = await read_state(ledger, app_names(app_name), APP)
    async for row in _rows(ledger, app_name, user_id):
        if row.user_id not in shared:
            shared[row.user_id] = app | await read_state(ledger, AdkNames(row.user_id, f"{SEPARATOR}user"), USER)
        names = AdkNames(row.user_id, row.session_id)
        stored = await read_session(ledger, names, shared[row.user_id], limits=NO_EVENTS)
        if stored is not None:
            found.append(stored)
    return sorted(found, key=lambda each: (each.updated, each.user_id, each.session_id))


async def read_events(
    handle: NamespaceHandle, stream: Stream, state: SessionState, *, last: int | None, after: int | None = None
) -> list[JsonObject]:
    """Return the events of a session in *state*, the oldest first: the newest *last* of those after a version."""
    entries = await read_transcript(handle, stream, state, last=last, after=after)
    return [event_of(entry) for entry in await with_large_values(handle, stream, entries, state.version)]


def about_of(state: SessionState) -> Mapping[str, Any]:
    """Return the SDK's own names of a session, and when it was created; empty if another writer began it."""
    about = state.working.data.get(ABOUT)
    return about if isinstance(about, dict) else {}


async def _events(
    handle: NamespaceHandle, names: AdkNames, state: SessionState, limits: EventLimits
) -> tuple[list[JsonObject], JsonObject | None]:
    """Return the events within *limits*, oldest first, and the newest of all."""
    stream = handle.stream(names.session_id, names.user_id)
    last, since = limits.last, limits.since
    wanted = max(last, 1) if last is not None else None if since is None else _FIRST_READ
    while True:
        events = await read_events(handle, stream, state, last=wanted)
        newest = events[-1] if events else None
        if wanted is None or last is not None or len(events) < wanted or events[0]["timestamp"] < since:
            break
        wanted *= 4
    if last == 0:
        return [], newest
    first = next(
        (at for at in range(len(events), 0, -1) if since is not None and events[at - 1]["timestamp"] < since), 0
    )
    return events[first:], newest


async def _rows(ledger: MemoryLedger, app_name: str, user_id: str | None) -> AsyncIterator[IndexedSession]:
    """Yield the live sessions of an app, but not those that have the state of users and of the app."""
    one = None if user_id is None else session_names(app_name, user_id, "").user_id
    prefix = app_names(app_name).user_id if user_id is None else None
    async for row in list_all_sessions(ledger, user_id=one, user_prefix=prefix, status="live"):
        if not row.session_id.startswith(SEPARATOR):
            yield row
