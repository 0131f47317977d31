"""Auditing: what a model saw, what an entry reached, and building anew what is kept beside the log."""

from collections.abc import Callable
from typing import Unpack

from ledger import seeing
from ledger.codec import decode
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import ContextRendered, EntryAdded, RecordedEvent
from ledger.history.log import EntryRecord, LoggedEvent, LogPage, read_entry, read_feed, read_log
from ledger.ids import namespace_id
from ledger.memory.reading import Reading
from ledger.names import check_entry_id
from ledger.replay.stored_projections import BuildStatus, RebuiltProjection, StoredProjectionInfo
from ledger.results import When
from ledger.seeing import Derived, Seen
from ledger.session.state import SESSION, at_rest
from ledger.strict_json import check_integer
from projections.lineage import LINEAGE

MOST_EVENTS = 1_000  # trust N-6


class Auditing(Reading):
    """Questions of those who must explain an agent, and of those who run it."""

    async def seen(self, session_id: str, **when: Unpack[When]) -> Seen:
        """Return what the model was shown, proved by its recorded digest, each line with its source.

        That is the newest context recorded up to *version*, or a moment; with *version* also one that was
        rendered at it and recorded after. Where none was recorded, it is what would have been shown.

        Raises:
            SessionNotFound, VersionNotFound, InvalidInput: as `get_state` does.
        """
        state = await self.get_state(session_id, **when)
        stream = self._stream(session_id, when.get("user_id"))
        events = [decode(stored) for stored in await self._store.read_stream(stream)]
        recorded = _newest(events, state.version, exact=when.get("at") is None)
        lineage = LINEAGE.fold(events)
        if recorded is None or not isinstance(payload := recorded.payload, ContextRendered):
            context = await self.get_context(session_id, version=state.version, user_id=when.get("user_id"))
        else:
            context = await self._shown_again(stream, payload)
        return seeing.seen(context, recorded, lineage)

    async def derived(self, session_id: str, entry_id: str | int, *, user_id: str | None = None) -> Derived:
        """Return every summary and recorded context that an entry, by id or version, reached (trust P-17).

        Raises:
            SessionNotFound: the session has no events.
            EntryNotFound: it never had such an entry.
        """
        if isinstance(entry_id, bool) or not isinstance(entry_id, str | int):
            raise InvalidInput("wrong_type", "is an entry's id or its version", field="entry_id")
        stream = await self._existing(session_id, user_id)
        events = [decode(stored) for stored in await self._store.read_stream(stream)]
        added = [(event.version, event.payload) for event in events if isinstance(event.payload, EntryAdded)]
        names = {payload.entry_id for version, payload in added if entry_id in {payload.entry_id, version}}
        if not names:
            raise EntryNotFound(str(entry_id), ever=False)
        (name,) = names
        versions = tuple(
            version
            for version, payload in added
            if payload.entry_id == name and (isinstance(entry_id, str) or version == entry_id)
        )
        state = at_rest(await self._states.at(stream, version=events[-1].version))
        return seeing.derived(session_id, name, versions, state, LINEAGE.fold(events))

    async def get_entry(self, session_id: str, entry_id: str, *, user_id: str | None = None) -> EntryRecord:
        """Return an entry as it is now, what became of it, and everything recorded about it.

        Raises:
            SessionNotFound: the session has no events.
            EntryNotFound: it never had such an entry.
        """
        check_entry_id(entry_id, field="entry_id")
        state = await self.get_state(session_id, user_id=user_id)
        return await read_entry(self._store, self._stream(session_id, user_id), state, entry_id)

    async def get_log(
        self,
        session_id: str,
        *,
        after_version: int = 0,
        limit: int = 100,
        type: str | None = None,
        user_id: str | None = None,
    ) -> LogPage:
        """Return the session's events after a version, oldest first, with their hashes; of one *type*, if given.

        Of a type, a page may hold fewer than *limit* and still not be the last: go on at its *next_after*.

        Raises:
            SessionNotFound: the session has no events.
            InvalidInput: ``bad_version``, ``bad_limit`` or ``bad_id``.
        """
        check_integer(after_version, field="after_version", code="bad_version", least=0)
        check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_EVENTS)
        if type is not None:
            check_entry_id(type, field="type")
        stream = await self._existing(session_id, user_id)
        return await read_log(self._store, stream, after=after_version, limit=limit, type=type)

    async def get_feed(self, *, after: int = 0, limit: int = 100) -> list[LoggedEvent]:
        """Return the events of the whole namespace after position *after*, in position order, without gaps.

        Raises:
            InvalidInput: ``bad_position`` or ``bad_limit``.
        """
        self._check_open()
        check_integer(after, field="after", code="bad_position", least=0)
        check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_EVENTS)
        return await read_feed(self._store, namespace_id(self._namespace), self._namespace, after=after, limit=limit)

    async def matches_replay(self, session_id: str, *, user_id: str | None = None) -> bool:
        """Tell whether what reads answer equals a replay from the first event (trust P-8).

        Raises:
            SessionNotFound: the session has no events.
        """
        state = await self.get_state(session_id, user_id=user_id)
        return at_rest(await self.fold(session_id, SESSION, version=state.version, user_id=user_id)) == state

    def stored_projections(self) -> list[StoredProjectionInfo]:
        """Return the projections that this release keeps in tables."""
        return self._projections.listed()

    async def projection_builds(self) -> list[BuildStatus]:
        """Return the builds of the stored projections of this namespace, and how far each has folded it."""
        return await self._projections.status()

    async def rebuild_projections(
        self,
        name: str | None = None,
        *,
        progress: Callable[[str, int, int], None] = lambda name, done, total: None,
    ) -> list[RebuiltProjection]:
        """Build the stored projection *name*, or all, anew from the log, while readers use what there is.

        The new build takes the old one's place in one transaction. One that was interrupted is gone on with.
        *progress* gets (name, position reached, last position).

        Raises:
            InvalidInput: there is no such projection.
            Conflict: another rebuild was ahead.
        """
        return await self._projections.rebuild(name, progress=progress)


def _newest(events: list[RecordedEvent], version: int, *, exact: bool) -> RecordedEvent | None:
    """Return the newest recorded context up to *version*; with *exact*, rather one rendered at just that version."""
    contexts = [(event, event.payload) for event in events if isinstance(event.payload, ContextRendered)]
    of_it = [event for event, payload in contexts if exact and payload.rendered_version == version]
    before = [event for event, _ in contexts if event.version <= version]
    return next(reversed(of_it or before), None)
