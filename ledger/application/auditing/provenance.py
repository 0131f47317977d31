"""Explain an agent: what a model was shown, and what an entry reached."""

from typing import Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.context_audit import ContextAudit, Derived
from ledger.application.reading.context_audit import derived as derived_from
from ledger.application.reading.context_audit import seen as seen_of
from ledger.application.reading.contexts import context_of_state, shown_again
from ledger.application.reading.session_reads import existing_state
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import ContextRendered, EntryAdded, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.entry_reads import read_types
from ledger.history.lineage_reads import read_descent, read_origins
from ledger.history.origins import is_claimed_at
from ledger.results import When
from projections.entries import Entry
from projections.values import ranges


async def seen(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> ContextAudit:
    """Return what the model was shown, proved by its recorded digest, each line with its source.

    That is the newest context recorded up to *version*, or a moment; with *version* also one that was
    rendered at it and recorded after. If none was recorded, it is what would have been shown.

    Raises:
        SessionNotFound, VersionNotFound, InvalidInput: as `get_state` does.
    """
    state = await existing_state(handle, session_id, **when)
    stream, store = handle.stream(session_id, when.get("user_id")), handle.services.store
    recorded = await _newest(handle, stream, state.version, exact=when.get("version") is not None)
    if recorded is None or not isinstance(payload := recorded.payload, ContextRendered):
        context = await context_of_state(handle, stream, state, looks_back=True, with_turn=False)
    else:
        context = await shown_again(handle, stream, payload)
    lineage = await read_origins(store, stream, context.summaries)
    claimed = recorded is not None and await is_claimed_at(store, stream, recorded.version)
    return seen_of(context, recorded, lineage, actor_claimed=claimed)


async def derived(
    handle: NamespaceHandle, session_id: str, entry_id: str | int, *, user_id: str | None = None
) -> Derived:
    """Return every summary and recorded context that an entry, by id or version, reached.

    Raises:
        SessionNotFound: the session has no events.
        EntryNotFound: it never had such an entry.
        InvalidInput: ``wrong_type``: *entry_id* is neither.
    """
    if isinstance(entry_id, bool) or not isinstance(entry_id, str | int):
        raise InvalidInput("wrong_type", "must be an entry's id or its version", field="entry_id")
    state = await existing_state(handle, session_id, user_id=user_id)
    stream, store = handle.stream(session_id, user_id), handle.services.store

    async def read(wanted: list[int]) -> list[RecordedEvent]:
        versions = ranges.ranges_of(version for version in wanted if 1 <= version <= state.version)
        return [decode(stored) for stored in await store.events.read_versions(stream, versions)]

    name = entry_id
    if isinstance(name, int):
        names = [event.payload.entry_id for event in await read([name]) if isinstance(event.payload, EntryAdded)]
        name = names[0] if names else ""
    about = await read((await store.events.find_items(stream, [name])).get(name, []))
    versions = tuple(
        event.version for event in about if isinstance(event.payload, EntryAdded) and entry_id in {name, event.version}
    )
    if not versions:
        raise EntryNotFound(str(entry_id), ever=False)

    async def opening_at(version: int) -> Entry | None:
        past = await handle.services.states.past(stream, version=version)
        return await handle.services.states.view(stream, past, lambda: past.window.opening)

    lineage = await read_descent(
        store,
        stream,
        versions,
        about,
        opening_at,
        until=state.version,
    )
    return derived_from(session_id, name, versions, state, lineage)


async def _newest(handle: NamespaceHandle, stream: Stream, version: int, *, exact: bool) -> RecordedEvent | None:
    """Return the newest recorded context up to *version*; with *exact*, rather one rendered at just that version."""
    store = handle.services.store
    if exact:
        later = await read_types(store, stream, ContextRendered, after=version)
        for event in reversed(later):
            if isinstance(event.payload, ContextRendered) and event.payload.rendered_version == version:
                return event
    newest = await store.events.find_newest(stream, ContextRendered.type, until=version)
    stored = await store.events.read_versions(stream, ((newest, newest),)) if newest else ()
    return next((decode(event) for event in stored), None)
