"""Explaining an agent: what a model was shown, and what an entry reached."""

from typing import Unpack

from ledger.application.context import context_of_state, shown_again
from ledger.application.context_audit import ContextAudit, Derived
from ledger.application.context_audit import derived as derived_from
from ledger.application.context_audit import seen as seen_of
from ledger.application.handle import NamespaceHandle
from ledger.application.reading import get_state
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import ContextRendered, EntryAdded, RecordedEvent
from ledger.results import When
from ledger.session.state import end_of_batch
from projections.lineage import LINEAGE


async def seen(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> ContextAudit:
    """Return what the model was shown, proved by its recorded digest, each line with its source.

    That is the newest context recorded up to *version*, or a moment; with *version* also one that was
    rendered at it and recorded after. Where none was recorded, it is what would have been shown.

    Raises:
        SessionNotFound, VersionNotFound, InvalidInput: as `get_state` does.
    """
    state = await get_state(handle, session_id, **when)
    stream = handle.stream(session_id, when.get("user_id"))
    events = await handle.events(session_id, when.get("user_id"))
    recorded = _newest(events, state.version, exact=when.get("at") is None)
    lineage = LINEAGE.fold(events)
    if recorded is None or not isinstance(payload := recorded.payload, ContextRendered):
        context = await context_of_state(handle, stream, state, looks_back=True)
    else:
        context = await shown_again(handle, stream, payload, events)
    return seen_of(context, recorded, lineage)


async def derived(
    handle: NamespaceHandle, session_id: str, entry_id: str | int, *, user_id: str | None = None
) -> Derived:
    """Return every summary and recorded context that an entry, by id or version, reached.

    Raises:
        SessionNotFound: the session has no events.
        EntryNotFound: it never had such an entry.
    """
    if isinstance(entry_id, bool) or not isinstance(entry_id, str | int):
        raise InvalidInput("wrong_type", "is an entry's id or its version", field="entry_id")
    events = await handle.events(session_id, user_id)
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
    state = end_of_batch(
        await handle.services.states.at(handle.stream(session_id, user_id), version=events[-1].version)
    )
    return derived_from(session_id, name, versions, state, LINEAGE.fold(events))


def _newest(events: list[RecordedEvent], version: int, *, exact: bool) -> RecordedEvent | None:
    """Return the newest recorded context up to *version*; with *exact*, rather one rendered at just that version."""
    contexts = [(event, event.payload) for event in events if isinstance(event.payload, ContextRendered)]
    of_it = [event for event, payload in contexts if exact and payload.rendered_version == version]
    before = [event for event, _ in contexts if event.version <= version]
    return next(reversed(of_it or before), None)
