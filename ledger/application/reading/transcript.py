"""The transcript of a session: all entries since the last clear that were not removed, compacted or not."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple, Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import check_when, partial_state
from ledger.errors import UnknownEvent
from ledger.events import (
    EVENT_TYPES,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    OpaqueEvent,
    RecordedEvent,
    SessionCleared,
    StoredEvent,
)
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.history.item_history import read_items
from ledger.ports import Store
from ledger.results import When
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.entries import added as entry_added
from projections.log.item_versions import ItemVersion, item_versions
from projections.values import ranges

_CHANGES: Final = (EntryEdited.type, EntryRemoved.type)
#: Types of events that neither add nor change an entry. One that this release does not know is not passed over.
_OTHERS: Final = sorted(EVENT_TYPES.keys() - {EntryAdded.type, *_CHANGES, SessionCleared.type})
_BESIDE_ENTRIES: Final = 16  # changes that are usually among the newest entries
_MOST_AT_ONCE: Final = 10_000  # events


async def get_transcript(
    handle: NamespaceHandle,
    session_id: str,
    *,
    last: int | None = None,
    after: int | None = None,
    **when: Unpack[When],
) -> list[Entry]:
    """Return the entries since the last clear that were not removed, compacted or not, in the order of versions.

    With *last*, only the newest so many; with *after*, only those added after that version. It costs what it returns,
    however long the session is. An unknown session has none.

    Raises:
        VersionNotFound: the session has no such version, or had no events at that moment.
        InvalidInput: ``bad_limit`` or ``bad_version``; or as `get_state` does.
    """
    # adapters AD-6, LF-2
    if last is not None:
        check_integer(last, field="last", code="bad_limit", least=0)
    if after is not None:
        check_integer(after, field="after", code="bad_version", least=0)
    return (await transcript_of(handle, session_id, when, last=last, after=after)).entries


class TranscriptAt(NamedTuple):
    """Entries of a session, oldest first, and the version at which they were read; 0 for an unknown session."""

    entries: list[Entry]
    version: int


async def transcript_of(
    handle: NamespaceHandle, session_id: str, when: When, *, last: int | None = None, after: int | None = None
) -> TranscriptAt:
    """Return what `get_transcript` does, with the version. Raises as it does."""
    stream = handle.stream(session_id, when.get("user_id"))
    version, at = check_when(when)
    states = handle.services.states
    if last is not None and after is None and (version is not None or at is not None or not states.folded(stream)):
        return await _tail(handle, stream, version, at, last)
    state = await partial_state(handle, session_id, when)
    return TranscriptAt(await read_transcript(handle, stream, state, last=last, after=after), state.version)


async def _tail(
    handle: NamespaceHandle, stream: Stream, version: int | None, at: datetime | None, last: int
) -> TranscriptAt:
    """Return the *last* entries at a version or a moment, without a look at the state, which is not in memory."""
    # adapters LF-11
    store = handle.services.store
    until = version if at is None else await store.events.version_at(stream, at)
    known, found = (0, []) if until is not None and until < 1 else await _read_newest(store, stream, last, until)
    if until not in {None, known} or (until is not None and not known):
        raise await handle.services.states.absence(stream, at)
    return TranscriptAt(found, known)


async def _read_newest(store: Store, stream: Stream, last: int, until: int | None) -> tuple[int, list[Entry]]:
    """Return the newest version up to *until*, and the *last* entries there, from the newest events backwards.

    These tell all that was done to their entries, so mostly one read is enough.
    """
    newest, events, first = 0, list[RecordedEvent](), 0
    limit = last + _BESIDE_ENTRIES
    while True:
        version, stored = await store.events.read_newest(
            stream, limit=limit, until=first - 1 if first else until, without=_OTHERS
        )
        newest = newest or version
        events = [*map(_known, stored), *events]
        cleared = max((event.version for event in events if isinstance(event.payload, SessionCleared)), default=0)
        found = [entry for entry in _not_removed(item_versions(events)) if entry.version > cleared]
        if len(stored) < limit or cleared or len(found) >= last or stored[0].version == 1:
            return newest, found[-last:] if last else []
        first, limit = stored[0].version, min(2 * limit, _MOST_AT_ONCE)


def _known(stored: StoredEvent) -> RecordedEvent:
    event = decode(stored)
    if isinstance(event.payload, OpaqueEvent):  # nobody knows what it did to the entries
        raise UnknownEvent(event.payload.type, event.payload.schema_version, version=event.version)
    return event


async def read_transcript(
    handle: NamespaceHandle, stream: Stream, state: SessionState, *, last: int | None, after: int | None = None
) -> list[Entry]:
    """Return the transcript of *stream* in *state*, which may lack content; see `get_transcript`."""
    if after is None and not (state.counts.covered or state.counts.erased):  # the window has all of it
        return await handle.services.states.view(stream, state, lambda: _window(state, last))
    store, since = handle.services.store, max(state.cleared_version, after or 0)
    if last is not None:
        _, found = await _read_newest(store, stream, last, state.version) if state.version else (0, [])
        return [entry for entry in found if entry.version > since]
    added = await store.events.find_types(stream, [EntryAdded.type], after=since, until=state.version)
    return await _entries(store, stream, added, until=state.version)


def _window(state: SessionState, last: int | None) -> list[Entry]:
    entries = state.window.entries
    return list(entries) if last is None else list(islice(reversed(entries), last))[::-1]


async def _entries(store: Store, stream: Stream, added: Sequence[int], *, until: int) -> list[Entry]:
    """Return the entries added at these versions that were not removed up to *until*, with their text then.

    It asks first whether any was changed, which is faster than to look each of them up.
    """
    if not added:
        return []
    wanted = ranges.ranges_of(added)
    if await store.events.find_types(stream, _CHANGES, after=added[0], until=until, limit=1):
        items = await read_items(store, stream, wanted, until=until)
        return sorted(_not_removed(items.values()), key=lambda entry: entry.version)
    events = [decode(stored) for stored in await store.events.read_versions(stream, wanted)]
    return [entry_added(event, event.payload) for event in events if isinstance(event.payload, EntryAdded)]


def _not_removed(versions: Iterable[ItemVersion]) -> list[Entry]:
    """Return the entries as their newest of *versions* says, in the order of their addition, without removed ones."""
    newest = {version.item.version: version for version in versions}
    return [found.item for found in newest.values() if isinstance(found.item, Entry) and not found.removed]
