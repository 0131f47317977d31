"""The transcript of a session: all entries since the last clear that were not removed, compacted or not."""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final, Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.reading import partial_state
from ledger.codec import decode
from ledger.events import EntryAdded, EntryEdited, EntryRemoved
from ledger.history.items import read_items
from ledger.ids import Stream
from ledger.ports import Store
from ledger.results import When
from ledger.session.state import SessionState
from ledger.strict_json import check_integer
from projections import ranges
from projections.entries import Entry
from projections.entries import added as entry_added

_CHANGES: Final = (EntryEdited.type, EntryRemoved.type)
_LEAST_READ: Final = 64  # versions; fewer would only cost more round trips


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
    state = await partial_state(handle, session_id, when)
    return await read_transcript(handle, handle.stream(session_id, when.get("user_id")), state, last=last, after=after)


async def read_transcript(
    handle: NamespaceHandle, stream: Stream, state: SessionState, *, last: int | None, after: int | None = None
) -> list[Entry]:
    """Return the transcript of *stream* in *state*, which may lack content; see `get_transcript`."""
    if after is None and not (state.counts.covered or state.counts.erased):  # the window has all of it
        return await handle.services.states.view(stream, state, lambda: _window(state, last))
    oldest = max(state.cleared_version, after or 0)
    until, span = state.version, max(_LEAST_READ, 2 * (last or 0))
    store = handle.services.store
    found: list[Entry] = []
    while until > oldest and (last is None or len(found) < last):
        since = oldest if last is None else max(oldest, until - span)
        added = await store.events.find_types(stream, [EntryAdded.type], after=since, until=until)
        if last is not None:  # of the newest, no more than are missing: removed ones are made up for in the next round
            added = added[-_missing(last, found) :]
            since = added[0] - 1 if len(added) == _missing(last, found) else since
        found = await _entries(store, stream, added, until=state.version, many=last is None) + found
        until, span = since, 2 * span
    return found


def _window(state: SessionState, last: int | None) -> list[Entry]:
    entries = state.window.entries
    return list(entries) if last is None else list(islice(reversed(entries), last))[::-1]


async def _entries(store: Store, stream: Stream, added: Sequence[int], *, until: int, many: bool) -> list[Entry]:
    """Return the entries added at these versions that were not removed up to *until*, with their text then.

    For *many* it asks first whether any was changed, which is faster than to look each of them up.
    """
    if not added:
        return []
    wanted = ranges.ranges_of(added)
    if many and not await store.events.find_types(stream, _CHANGES, after=added[0], until=until, limit=1):
        events = [decode(stored) for stored in await store.events.read_versions(stream, wanted)]
        return [entry_added(event, event.payload) for event in events if isinstance(event.payload, EntryAdded)]
    items = await read_items(store, stream, wanted, until=until)
    whole = [item.item for item in items.values() if isinstance(item.item, Entry) and not item.removed]
    return sorted(whole, key=lambda entry: entry.version)


def _missing(last: int, found: Collection[Entry]) -> int:
    return max(1, last - len(found))
