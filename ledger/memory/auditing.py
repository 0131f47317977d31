"""Auditing: what a model saw, what an entry reached, and building anew what is kept beside the log."""

from collections.abc import Callable
from typing import Unpack

from ledger import seeing
from ledger.codec import decode
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import ContextRendered, EntryAdded, RecordedEvent
from ledger.memory.reading import Reading
from ledger.results import When
from ledger.seeing import Derived, Seen
from ledger.state import at_rest
from ledger.stored_projections import BuildStatus, RebuiltProjection, StoredProjectionInfo
from projections.lineage import LINEAGE


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
