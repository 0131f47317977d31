"""Write sessions of Google ADK: each event with the state that it changes, in one write. Source: adapters GA-1."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ledger.adapters.foreign_names import storable
from ledger.adapters.google_adk.adk_events import SDK, draft_of
from ledger.adapters.google_adk.adk_reads import read_events
from ledger.adapters.google_adk.adk_state import (
    ABOUT,
    AdkNames,
    StateParts,
    app_names,
    parts_of,
    session_names,
    user_names,
)
from ledger.adapters.large_items import LargeValues
from ledger.adapters.sdk_sessions import UNCHANGED
from ledger.application.commands.write_requests import Decision, SessionPart, Written
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.entry_writes import WindowBefore, answer_to_adding
from ledger.application.writing.session_object import data_change
from ledger.application.writing.values_by_digest import keep_once
from ledger.errors import SessionExists, SessionNotFound, VersionConflict
from ledger.events import JsonObject
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.session.commands import AddEntries, Command
from ledger.session.state import SessionState
from projections.working_memory import NOT_FROM_CLIENTS

_HARMLESS: Final = [payload.type for payload in NOT_FROM_CLIENTS]


class AdkPlace(msgspec.Struct, frozen=True):
    """A session by the SDK's own names."""

    app_name: str
    user_id: str
    session_id: str

    @property
    def names(self) -> AdkNames:
        """Where the session is in the ledger."""
        return session_names(self.app_name, self.user_id, self.session_id)

    def about(self) -> JsonObject:
        """Return the names as session data has them."""
        names = {"app_name": self.app_name, "user_id": self.user_id, "session_id": self.session_id}
        return {field: storable(name) for field, name in names.items()}


class SeenEvents(msgspec.Struct, frozen=True):
    """What a writer has seen of a session: its *version*, or where that is not known the id of the *newest* event."""

    version: int | None
    newest: str | None


async def create(ledger: MemoryLedger, place: AdkPlace, state: JsonObject, key: str) -> int:
    """Begin a session with *state*, once for each idempotency *key*; return its version.

    Raises:
        SessionExists: it is there.
    """
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    stream = handle.stream(place.names.session_id, place.names.user_id)
    parts = parts_of(state)
    about = {ABOUT: {**place.about(), "created": handle.services.clock.now().timestamp()}}

    async def decision_for(state: SessionState) -> Decision[None]:
        if not starts_life(handle, state):
            raise SessionExists(place.session_id)
        change = data_change(handle, state, {**about, **parts.session})
        return Decision([*opening_commands(handle, stream, state, UNCHANGED), change], None)

    begin = SessionPart(stream=stream, decision_for=decision_for)
    written, _ = await _write(handle, begin, _shared_parts(handle, place, parts), key)
    return written.version


async def append(
    ledger: MemoryLedger, place: AdkPlace, event: JsonObject, changed: JsonObject, seen: SeenEvents, key: str
) -> int:
    """Add *event* and the *changed* state, once for each idempotency *key*; return the version of the session.

    An event that an earlier call stored, although it failed, is not added again.

    Raises:
        SessionNotFound: there is no such session.
        VersionConflict: it has events that the writer has not seen.
        InvalidInput: the event or the state is over a limit.
    """
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    stream, large = handle.stream(place.names.session_id, place.names.user_id), LargeValues()
    draft = draft_of(event, large)
    parts = parts_of(changed)

    async def decision_for(state: SessionState) -> Decision[WindowBefore]:
        if starts_life(handle, state):
            raise SessionNotFound(place.session_id)
        if await _has_unseen(handle, stream, state, seen):
            raise VersionConflict(current=state.version, expected=seen.version or 0)
        write_id = handle.services.clock.ulid()
        commands: list[Command] = [*await keep_once(handle, stream, state, large.drafts(), write_id)]
        commands.append(AddEntries((new_entry(handle, draft, write_id, state.config.tokenizer),)))
        if parts.session:
            commands.append(data_change(handle, state, parts.session))
        return Decision(commands, WindowBefore(state.items.waiting))

    add = SessionPart(stream=stream, decision_for=decision_for)
    try:
        written, before = await _write(handle, add, _shared_parts(handle, place, parts), key)
    except VersionConflict:
        version = await _stored_before(handle, stream, event, seen)
        if version is None:
            raise
        return version
    await answer_to_adding(handle, stream, (draft,), written, before)
    return written.version


async def is_stored(ledger: MemoryLedger, place: AdkPlace, event: JsonObject) -> bool:
    """Tell whether the session has an event that is equal to *event*; it reads all of them."""
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    stream = handle.stream(place.names.session_id, place.names.user_id)
    state = await handle.services.states.newest(stream)
    return event in await read_events(handle, stream, state, last=None)


async def _write(
    handle: NamespaceHandle, first: SessionPart[Any], others: Sequence[SessionPart[Any]], key: str
) -> tuple[Written, Any]:
    """Write the parts at once; return the answer to the first."""
    parts = [first, *others]
    anchor = min((part.stream for part in parts), key=lambda stream: stream.stream_id)
    idempotency = handle.idempotency(anchor, SDK, {}, key)
    answers = await handle.services.commands.write_sessions(parts, actor=handle.actor, idempotency=idempotency)
    return answers[0]


def _shared_parts(handle: NamespaceHandle, place: AdkPlace, parts: StateParts) -> list[SessionPart[None]]:
    """Return what the state of the user and that of the app get."""
    places = (user_names(place.app_name, place.user_id), parts.user), (app_names(place.app_name), parts.app)
    return [_shared_part(handle, names, changed) for names, changed in places if changed]


def _shared_part(handle: NamespaceHandle, names: AdkNames, changed: JsonObject) -> SessionPart[None]:
    stream = handle.stream(names.session_id, names.user_id)

    async def decision_for(state: SessionState) -> Decision[None]:
        opening = opening_commands(handle, stream, state, UNCHANGED)
        return Decision([*opening, data_change(handle, state, changed)], None)

    return SessionPart(stream=stream, decision_for=decision_for)


async def _has_unseen(handle: NamespaceHandle, stream: Stream, state: SessionState, seen: SeenEvents) -> bool:
    """Tell whether another writer changed the session; a context that was recorded changes nothing."""
    if seen.version is None:
        newest = await read_events(handle, stream, state, last=1)
        return [event["id"] for event in newest] != ([] if seen.newest is None else [seen.newest])
    if seen.version >= state.version:
        return seen.version > state.version
    harmless = await handle.services.store.events.find_versions(
        stream, after=seen.version, until=state.version, types=_HARMLESS
    )
    return len(harmless) < state.version - seen.version


async def _stored_before(handle: NamespaceHandle, stream: Stream, event: JsonObject, seen: SeenEvents) -> int | None:
    """Return the version of the session if all that its writer has not seen is *event*."""
    if seen.version is None:
        return None
    state = await handle.services.states.newest(stream)
    unseen = await read_events(handle, stream, state, last=None, after=seen.version)
    return state.version if unseen == [event] else None
