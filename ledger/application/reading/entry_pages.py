"""The entries of a session in pages: their beginnings, and what became of each."""

from bisect import bisect_right
from datetime import datetime
from typing import Any, Final

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state
from ledger.events import CompactionCompleted, EntryAdded, Kind, ToolStatus
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.history.departures import read_clears, read_coverings
from ledger.history.item_history import read_items
from ledger.results import When
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.log.history import PastEntryStatus
from projections.values import ranges

MOST_ENTRIES: Final = 1_000
MOST_WHOLE: Final = 50
_PREVIEW: Final = 200  # characters


class EntryRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as of a version, with the beginning of its text and the *length* of all of it.

    *left_version* is that of the event that its *status* comes from. *content*, *data* and *arguments* are None unless
    whole entries were asked for.
    """

    entry_id: str
    version: int
    kind: Kind
    role: str
    tokens: int
    preview: str
    length: int
    created_at: datetime
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    edited_version: int | None = None
    status: PastEntryStatus = "active"
    left_version: int | None = None
    summary_ids: tuple[str, ...] = ()
    content: str | None = None
    data: Any = None
    arguments: Any = None


class EntryRows(msgspec.Struct, frozen=True, kw_only=True):
    """A page of entries, oldest first, as of *version*; *next_from* is None at the end."""

    entries: tuple[EntryRow, ...]
    next_from: int | None
    version: int


async def list_entries(
    handle: NamespaceHandle,
    session_id: str,
    *,
    from_version: int = 1,
    limit: int = 200,
    version: int | None = None,
    full: bool = False,
    user_id: str | None = None,
) -> EntryRows:
    """Return the entries from *from_version* on, whatever became of them, as they are now or were at *version*.

    With *full*, with their whole content; then a page has at most 50. An entry that left the window has the summary by
    which it left; an active one those that cover it and are live.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version.
        InvalidInput: ``bad_version`` or ``bad_limit``.
    """
    check_integer(from_version, field="from_version", code="bad_version", least=1)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_ENTRIES)
    limit = min(limit, MOST_WHOLE) if full else limit
    when: When = {"user_id": user_id} if version is None else {"user_id": user_id, "version": version}
    state = await existing_state(handle, session_id, **when)
    stream, store, until = handle.stream(session_id, user_id), handle.services.store, state.version
    found = []
    if from_version <= until:
        types = [EntryAdded.type]
        found = await store.events.find_types(stream, types, after=from_version - 1, until=until, limit=limit)
    items = await read_items(store, stream, ranges.ranges_of(found), until=until) if found else {}
    entries = {at: item.item for at, item in items.items() if isinstance(item.item, Entry)}
    removed = {at: item.event.version for at, item in items.items() if item.removed}
    fates = await _fates(handle, stream, state, entries, removed)
    rows = []
    for at in found:
        status, left, summary_ids = fates[at]
        rows.append(_row(entries[at], status, left, summary_ids, full=full))
    following = found[-1] + 1 if len(found) == limit and found[-1] < until else None
    return EntryRows(entries=tuple(rows), next_from=following, version=until)


_Fate = tuple[PastEntryStatus, int | None, tuple[str, ...]]


async def _fates(
    handle: NamespaceHandle,
    stream: Stream,
    state: SessionState,
    entries: dict[int, Entry],
    removed: dict[int, int],
) -> dict[int, _Fate]:
    """Return the status of each of *entries*, the version of the event that it comes from, and the summaries."""
    if not entries:
        return {}
    store, active = handle.services.store, state.window.entries
    clears = await read_clears(store, stream, after=min(entries), until=state.version)
    overlays = [summary for summary in state.summaries.live if summary.covered]
    fates: dict[int, _Fate] = {}
    for at in entries:
        clear = bisect_right(clears, at)
        if clear < len(clears):
            fates[at] = "cleared", clears[clear], ()
        elif at in removed:
            fates[at] = "removed", removed[at], ()
        elif active.has(at):
            names = (summary.summary_id for summary in overlays if ranges.contains(summary.covered, at))
            fates[at] = "active", None, tuple(names)
    left = [at for at in entries if at not in fates]
    for at, events in (await read_coverings(store, stream, left, until=state.version)).items():
        payloads = [event.payload for event in events if isinstance(event.payload, CompactionCompleted)]
        erased = bool(payloads) and payloads[-1].effect == "erase"
        summary_ids = tuple(payload.summary_id for payload in payloads if payload.summary_id)
        fates[at] = "erased" if erased else "covered", events[-1].version if events else None, summary_ids
    return fates


def _row(
    entry: Entry, status: PastEntryStatus, left_version: int | None, summary_ids: tuple[str, ...], *, full: bool
) -> EntryRow:
    return EntryRow(
        entry_id=entry.entry_id,
        version=entry.version,
        kind=entry.kind,
        role=entry.role,
        tokens=entry.tokens,
        preview=entry.content[:_PREVIEW],
        length=len(entry.content),
        created_at=entry.created_at,
        tool_name=entry.tool_name,
        tool_call_id=entry.tool_call_id,
        tool_status=entry.tool_status,
        edited_version=entry.edited_version,
        status=status,
        left_version=left_version,
        summary_ids=summary_ids,
        content=entry.content if full else None,
        data=entry.data if full else None,
        arguments=entry.arguments if full else None,
    )
