"""Sessions of Google ADK in the ledger: a session service for its runner.

service = LedgerSessionService()  # was: DatabaseSessionService(url)
runner = Runner(app_name="shop", agent=agent, session_service=service)

An app and a user are one user of the ledger, a session is a session, and an event is an entry.
"""

import asyncio
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Final
from weakref import WeakValueDictionary

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

from ledger.adapters.google_adk.adk_events import json_event
from ledger.adapters.google_adk.adk_reads import (
    ALL_EVENTS,
    EventLimits,
    StoredAdkSession,
    list_stored,
    moment_of,
    read_session,
    read_shared,
    read_state,
)
from ledger.adapters.google_adk.adk_state import ABOUT, AdkNames, json_state, session_names, user_names
from ledger.adapters.google_adk.adk_writes import AdkPlace, SeenEvents, append, create, is_stored
from ledger.adapters.sdk_sessions import SdkSessionStore, end_session, past_of
from ledger.errors import InvalidInput, SessionExists, SessionNotFound, VersionConflict
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.results import When
from ledger.session.entry_drafts import check_time

_clock: Final = SystemClock()


class LedgerSessionService(SdkSessionStore, BaseSessionService):
    """A session service of Google ADK whose sessions are sessions of the ledger.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread, and `close` ends it. Given an open *ledger*, it uses
    that, on the event loop of the ledger. Each event is stored with the state that it changes, of the session, the
    user and the app, in one write. Nothing is erased: `delete_session` ends a session, whose history stays. With
    *on_delete* ``"refuse"`` it raises instead.
    """

    _what = "the session service"

    @cached_property
    def _locks(self) -> WeakValueDictionary[AdkNames, asyncio.Lock]:
        """Those of sessions that are written now, so that each of their writers sees the event before."""
        return WeakValueDictionary()

    @staticmethod
    def names(*, app_name: str, user_id: str, session_id: str) -> dict[str, str]:
        """Return the ``user_id`` and the ``session_id`` of a session in the ledger, as its methods take them."""
        return session_names(app_name, user_id, session_id.strip())._asdict()

    @staticmethod
    def version_of(session: Session) -> int:
        """Return the version of the session in the ledger that *session* shows.

        Raises:
            InvalidInput: it is not from this service.
        """
        version = _seen(session).version
        if version is None:
            raise InvalidInput("bad_value", "must be from this service; get it again", field="session")
        return version

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Begin a session; without an id it gets one.

        Raises:
            AlreadyExistsError: there is a session with this id.
            InvalidInput: the state is over a limit.
        """
        place = AdkPlace(app_name, user_id, (session_id or "").strip() or _clock.ulid())
        try:
            await self._opened.run_once(partial(create, place=place, state=json_state(state or {}), key=_clock.ulid()))
        except SessionExists as fault:
            raise AlreadyExistsError(f"Session with id {place.session_id} already exists.") from fault
        found = await self._read(place, ALL_EVENTS, {})
        if found is None:
            raise SessionNotFoundError(f"Session {place.session_id} was deleted when it had just been created.")
        return found

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, or those that *config* asks for; None if there is none."""
        limits = EventLimits(config.num_recent_events, config.after_timestamp) if config else ALL_EVENTS
        return await self._read(AdkPlace(app_name, user_id, session_id.strip()), limits, {})

    async def get_session_at(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        version: int | None = None,
        at: datetime | str | None = None,
    ) -> Session | None:
        """Return a session as it was at a version or at a moment, with the state of user and app of that time.

        An event can only be appended to it if nothing was added since.

        Raises:
            VersionNotFound: the session had no such version, or no events at that moment.
            InvalidInput: not one of them was given.
        """
        when = past_of(version, at)
        return await self._read(AdkPlace(app_name, user_id, session_id.strip()), ALL_EVENTS, when)

    async def fork_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        new_session_id: str,
        version: int | None = None,
        at: datetime | str | None = None,
    ) -> Session:
        """Start a session from another as it is, or was at a version or at a moment; the history is not copied.

        The state of the user and of the app is shared by both.

        Raises:
            SessionNotFoundError: there is no such session.
            AlreadyExistsError: there is a session with the new id.
            VersionNotFound: the session had no such version, or no events at that moment.
        """
        old = AdkPlace(app_name, user_id, session_id.strip())
        new = AdkPlace(app_name, user_id, new_session_id.strip())
        try:
            await self._opened.run_once(partial(_fork, old=old, new=new, version=version, at=at, key=_clock.ulid()))
        except SessionNotFound as fault:
            raise SessionNotFoundError(f"Session {old.session_id} not found.") from fault
        except SessionExists as fault:
            raise AlreadyExistsError(f"Session with id {new.session_id} already exists.") from fault
        found = await self._read(new, ALL_EVENTS, {})
        if found is None:
            raise SessionNotFoundError(f"Session {old.session_id} had ended at that version.")
        return found

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of an app, of one user or of all, without events; those updated last at the end."""
        stored = await self._opened.run(partial(list_stored, app_name=app_name, user_id=user_id))
        return ListSessionsResponse(
            sessions=[_session(AdkPlace(app_name, each.user_id, each.session_id), each) for each in stored]
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """End a session; its history stays. The state of its user and of the app does not change.

        Raises:
            InvalidInput: the service refuses it.
        """
        self._check_deletes(field="session_id")
        names = session_names(app_name, user_id, session_id.strip())
        await self._opened.run(partial(end_session, session_id=names.session_id, user_id=names.user_id))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user, its keys without ``user:``; empty if there is none."""
        return await self._opened.run(partial(read_state, names=user_names(app_name, user_id)))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store *event* and the state it changes in one write, and add it to *session*; a partial one is not stored.

        An event that is stored already is not stored again.

        Raises:
            StaleSessionError: the session has events that *session* does not show; get it again.
            SessionNotFoundError: there is no such session.
            InvalidInput: the event or the state is over a limit, or is no JSON.
            DatabaseUnavailable: nobody knows whether it was stored; append it again.
        """
        if event.partial:
            return event
        may_be_stored = any(known.id == event.id for known in session.events)
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        place = AdkPlace(session.app_name, session.user_id, session.id)
        changed = json_state(event.actions.state_delta)  # in the event itself the SDK has null for infinity
        stored = json_event(event)
        key = _clock.ulid()

        async def work(ledger: MemoryLedger) -> None:
            async with self._locks.setdefault(place.names, asyncio.Lock()):
                if may_be_stored and await is_stored(ledger, place, stored):
                    return
                version = await append(ledger, place, stored, changed, _seen(session), key)
                session._storage_update_marker = str(version)  # noqa: SLF001 - the SDK's own services have it there
                session.last_update_time = event.timestamp
                self._commit_event_to_session(session, event)

        try:
            await self._opened.run_once(work)
        except VersionConflict as fault:
            message = "The session was modified in storage by another writer. Get it again before you append."
            raise StaleSessionError(message) from fault
        except SessionNotFound as fault:
            raise SessionNotFoundError(f"Session {session.id} not found.") from fault
        return event

    async def _read(self, place: AdkPlace, limits: EventLimits, when: When) -> Session | None:
        found = await self._opened.run(partial(_read, place=place, limits=limits, when=when))
        return None if found is None else _session(place, found)


async def _read(ledger: MemoryLedger, *, place: AdkPlace, limits: EventLimits, when: When) -> StoredAdkSession | None:
    version, at = when.get("version"), check_time(when.get("at"), "at")
    try:
        if version is not None:
            at = await moment_of(ledger, place.names, version)
        shared = await read_shared(ledger, place.app_name, place.user_id, at)
        return await read_session(ledger, place.names, shared, limits=limits, when=when)
    except SessionNotFound:
        return None


async def _fork(
    ledger: MemoryLedger, *, old: AdkPlace, new: AdkPlace, version: int | None, at: datetime | str | None, key: str
) -> None:
    user, name = old.names.user_id, new.names.session_id
    await ledger.fork(old.names.session_id, name, version=version, at=at, user_id=user, idempotency_key=key)
    about = (await ledger.get_data(name, user_id=user)).get(ABOUT)
    if isinstance(about, dict):
        await ledger.set_data(name, {ABOUT: {**about, **new.about()}}, user_id=user)


def _session(place: AdkPlace, stored: StoredAdkSession) -> Session:
    session = Session(
        app_name=place.app_name,
        user_id=place.user_id,
        id=place.session_id,
        state=stored.state,
        events=[Event.model_validate(event) for event in stored.events],
        last_update_time=stored.updated,
    )
    session._storage_update_marker = str(stored.version)  # noqa: SLF001 - the SDK's own services have it there
    return session


def _seen(session: Session) -> SeenEvents:
    """Return what *session* shows; without a version if it is from elsewhere."""
    marker = session._storage_update_marker  # noqa: SLF001 - as above
    version = int(marker) if marker is not None and marker.isdecimal() else None
    return SeenEvents(version, session.events[-1].id if session.events else None)


__all__ = ["LedgerSessionService"]
