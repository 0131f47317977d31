"""Finding a session whose names are only partly given. Source: http W-14, W-22, W-75."""

from collections.abc import Sequence

import msgspec

from ledger.application.namespaces import namespace_names
from ledger.application.working_memory import current_state
from ledger.errors import SeveralSessions
from ledger.ids import namespace_id
from ledger.server.callers import Caller
from ledger.server.service import Service
from ledger.session.state import SessionState


class Place(msgspec.Struct, frozen=True):
    """A session that was found, and its state; *expired* if it is only there because it comes back (http W-22)."""

    namespace: str
    user_id: str
    session_id: str
    state: SessionState
    expired: bool = False


class Locator:
    """Looks sessions up for one caller."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service = service
        self._caller = caller

    async def permitted(self, named: str | None = None) -> list[str]:
        """Return the namespaces to look in: the one that is named, or all that the caller may see.

        Raises:
            NotPermitted: the named one is not among them.
        """
        if named is not None:
            return [self._caller.namespace(named)]
        if self._caller.namespaces is not None:
            return sorted(self._caller.namespaces)
        return await namespace_names(self._service.services)

    async def find(self, session_id: str, *, namespace: str | None, user_id: str | None) -> Place | None:
        """Return the session that the names mean; none if there is none, or several it could be."""
        try:
            return await self.find_one(session_id, namespace=namespace, user_id=user_id)
        except SeveralSessions:
            return None

    async def find_one(self, session_id: str, *, namespace: str | None, user_id: str | None) -> Place | None:
        """Return the session that the names mean: the exact triple, else the only one the given parts match.

        Live ones go first; expired ones are looked for where they come back.

        Raises:
            SeveralSessions: several match.
        """
        home = self._caller.home if namespace is None else self._caller.namespace(namespace)
        exact = None if home is None else await self._look(home, user_id or "", session_id)
        if exact is not None and not exact.expired:
            return exact
        candidates = await self.candidates(session_id, namespace=namespace, user_id=user_id)
        for expired in (False, True):
            if expired and exact is not None:
                return exact
            those = [place for place in candidates if place.expired == expired]
            if len(those) > 1:
                raise SeveralSessions
            if those:
                return those[0]
        return None

    async def candidates(self, session_id: str, *, namespace: str | None, user_id: str | None) -> Sequence[Place]:
        """Return the sessions with this id that match the parts that are given."""
        names = {namespace_id(name): name for name in await self.permitted(namespace)}
        found = await self._service.store.events.find_sessions(list(names), session_id, user_id=user_id)
        places = [await self._look(names[one.namespace_id], one.user_id, session_id) for one in found]
        return [place for place in places if place is not None]

    async def _look(self, namespace: str, user_id: str, session_id: str) -> Place | None:
        handle = self._service.services.handle(namespace, self._caller.actor)
        state = await current_state(handle, session_id, user_id=user_id)
        if not state.opened:
            return None
        expired = state.has_expired(self._service.clock.now())
        if expired and not self._service.settings.index_all_messages_in_long_term_memory:
            return None
        return Place(namespace, user_id, session_id, state, expired)
