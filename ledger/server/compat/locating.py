"""Find a session if a request gives only some of its names. Source: http W-14, W-22, W-75."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ledger.application.namespace_reads import namespace_names
from ledger.application.writing.put_working_memory import current_state, knows_session
from ledger.errors import SeveralSessions
from ledger.events.ids import namespace_id
from ledger.server.access.callers import Caller
from ledger.server.service import Service
from ledger.session.merge.put_command import Body
from ledger.session.state import SessionState


class FoundSession(msgspec.Struct, frozen=True):
    """A session and its state without content; *expired* if it is found only because it can be restored (http W-22)."""

    namespace: str
    user_id: str
    session_id: str
    state: SessionState
    expired: bool = False


class Locator:
    """Finds sessions for one request; the state of each is read once."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service = service
        self._caller = caller
        self._states: dict[tuple[str, str, str], SessionState] = {}

    async def permitted(self, named: str | None = None) -> list[str]:
        """Return the namespaces to search: *named*, or all that the caller may use.

        Raises:
            NotPermitted: the caller may not use *named*.
        """
        if named is not None:
            return [self._caller.namespace(named)]
        if self._caller.namespaces is not None:
            return sorted(self._caller.namespaces)
        return await namespace_names(self._service.services)

    async def find(self, session_id: str, *, namespace: str | None, user_id: str | None) -> FoundSession | None:
        """Return the session that the names identify, or None if no session or several match."""
        try:
            return await self.find_one(session_id, namespace=namespace, user_id=user_id)
        except SeveralSessions:
            return None

    async def find_one(self, session_id: str, *, namespace: str | None, user_id: str | None) -> FoundSession | None:
        """Return the session with exactly these names, else the only one that matches the given names, else None.

        Live sessions win over expired ones, which count only if they can be restored.

        Raises:
            SeveralSessions: several match.
        """
        home = self._caller.home if namespace is None else self._caller.namespace(namespace)
        exact = None if home is None else await self._look(home, user_id or "", session_id)
        if exact is not None and not exact.expired:
            return exact
        candidates = await self._candidates(session_id, namespace=namespace, user_id=user_id)
        for expired in (False, True):
            if expired and exact is not None:
                return exact
            matches = [place for place in candidates if place.expired == expired]
            if len(matches) > 1:
                raise SeveralSessions
            if matches:
                return matches[0]
        return None

    async def find_target(
        self,
        session_id: str,
        body: Body,
        last_accessed: datetime | None,
        *,
        namespace: str | None,
        user_id: str | None,
    ) -> tuple[str, str, SessionState | None]:
        """Return namespace, user and, if it was read, state of the session that a PUT of *body* writes to.

        It is the session with exactly these names, unless that is not live and the body proves that its writer has
        read exactly one other session.
        """
        exact = self._caller.namespace(namespace), user_id or ""
        if namespace is not None and user_id is not None:
            return *exact, None
        state = await self._state(*exact, session_id)
        if state.is_live(self._service.clock.now()) or not (last_accessed or body.ids):
            return *exact, state
        known: list[FoundSession] = []
        for place in await self._candidates(session_id, namespace=namespace, user_id=user_id):
            handle = self._service.handle(place.namespace, self._caller)
            if await knows_session(handle, session_id, body, last_accessed, state=place.state, user_id=place.user_id):
                known.append(place)
        return (known[0].namespace, known[0].user_id, known[0].state) if len(known) == 1 else (*exact, state)

    async def _candidates(
        self, session_id: str, *, namespace: str | None, user_id: str | None
    ) -> Sequence[FoundSession]:
        """Return the sessions with this id that match the given names."""
        names = {namespace_id(name): name for name in await self.permitted(namespace)}
        found = await self._service.store.events.find_sessions(list(names), session_id, user_id=user_id)
        places = [await self._look(names[location.namespace_id], location.user_id, session_id) for location in found]
        return [place for place in places if place is not None]

    async def _look(self, namespace: str, user_id: str, session_id: str) -> FoundSession | None:
        state = await self._state(namespace, user_id, session_id)
        if not state.opened:
            return None
        expired = state.has_expired(self._service.clock.now())
        if expired and not self._service.settings.index_all_messages_in_long_term_memory:
            return None
        return FoundSession(namespace, user_id, session_id, state, expired)

    async def _state(self, namespace: str, user_id: str, session_id: str) -> SessionState:
        """Return the state of a session, which is read once, without content."""
        key = namespace, user_id, session_id
        if key not in self._states:
            handle = self._service.handle(namespace, self._caller)
            self._states[key] = await current_state(handle, session_id, user_id=user_id)
        return self._states[key]
