"""Find exact text in the entries and summaries of a session, as of a version."""

import asyncio
import re
from typing import Final, NamedTuple

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.errors import InvalidInput, SessionNotFound, VersionNotFound
from ledger.events import EntryAdded, EntryEdited, RecordedEvent
from ledger.events.codec import decode_in_order
from ledger.events.strict_json import check_integer
from ledger.history.departures import summary_in
from ledger.history.item_history import read_items
from projections.entries import Entry
from projections.values import ranges

MOST_MATCHES: Final = 1_000
MOST_CHARACTERS: Final = 1_000
_CHUNK: Final = 1_000  # events read at once
_PAGE_S: Final = 5.0  # a page ends after so long
_AROUND: Final = 40  # characters before a match, and from it on


class TextMatch(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, or a summary, with the text, *count* times; *preview* is around the first one."""

    version: int
    kind: str
    preview: str
    count: int
    entry_id: str | None = None
    summary_id: str | None = None
    role: str | None = None


class TextMatches(msgspec.Struct, frozen=True, kw_only=True):
    """A page of matches, in the order of their newest texts; *next_after* is None when all events were read."""

    matches: tuple[TextMatch, ...]
    next_after: int | None
    scanned_to: int


class _Hit(NamedTuple):
    """An event whose text matches; *entry* is the version of its entry, 0 for a summary."""

    event: RecordedEvent
    entry: int
    text: str


async def find(
    handle: NamespaceHandle,
    session_id: str,
    text: str,
    *,
    version: int | None = None,
    after: int = 0,
    limit: int = 100,
    ignore_case: bool = True,
    user_id: str | None = None,
) -> TextMatches:
    """Return the entries and summaries that contain *text*, now or at *version*, whatever became of them.

    An entry counts with the text that it has at that version. A page ends early if it takes seconds: go on after its
    *next_after*.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version.
        InvalidInput: ``bad_value``: *text* is empty or has over 1,000 characters; ``bad_version``, ``bad_limit``.
    """
    if not isinstance(text, str) or not 1 <= len(text) <= MOST_CHARACTERS:
        raise InvalidInput("bad_value", f"must have 1 to {MOST_CHARACTERS:,} characters", field="text")
    check_integer(after, field="after", code="bad_version", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_MATCHES)
    if version is not None:
        check_integer(version, field="version", code="bad_version", least=1)
    stream, store = handle.stream(session_id, user_id), handle.services.store
    newest, _ = await store.events.head(stream)
    if not newest:
        raise SessionNotFound(session_id)
    if version is not None and version > newest:
        raise VersionNotFound(f"the session has versions 1 to {newest}")
    until, at = newest if version is None else version, after
    wanted = re.compile(re.escape(text), re.IGNORECASE if ignore_case else 0)
    ends = asyncio.get_running_loop().time() + _PAGE_S
    matches: list[TextMatch] = []
    while at < until:
        stored = await store.events.read_stream(stream, after=at, until=until, limit=_CHUNK)
        if not stored:
            break
        hits = [hit for event in decode_in_order(stored, after=at) if (hit := _hit(event)) and wanted.search(hit.text)]
        versions = sorted({hit.entry for hit in hits if hit.entry})
        items = await read_items(store, stream, ranges.ranges_of(versions), until=until) if versions else {}
        entries = {number: item.item for number, item in items.items() if isinstance(item.item, Entry)}
        for hit in hits:
            found = _match(hit, entries.get(hit.entry), wanted)
            if found is not None:
                matches.append(found)
                if len(matches) == limit and hit.event.version < until:
                    last = hit.event.version
                    return TextMatches(matches=tuple(matches), next_after=last, scanned_to=last)
        at = stored[-1].version
        if at < until and asyncio.get_running_loop().time() > ends:
            return TextMatches(matches=tuple(matches), next_after=at, scanned_to=at)
    return TextMatches(matches=tuple(matches), next_after=None, scanned_to=max(at, until))


def _hit(event: RecordedEvent) -> _Hit | None:
    match event.payload:
        case EntryAdded(content=text):
            return _Hit(event, event.version, text)
        case EntryEdited(content=text, entry_version=entry):
            return _Hit(event, entry, text)
        case _:
            summary = summary_in(event)
            return _Hit(event, 0, summary.text) if summary else None


def _match(hit: _Hit, entry: Entry | None, wanted: re.Pattern[str]) -> TextMatch | None:
    """Return the match of *hit*; None if its text has been replaced since."""
    if hit.entry and (entry is None or (entry.edited_version or entry.version) != hit.event.version):
        return None
    found = list(wanted.finditer(hit.text))
    start = max(0, found[0].start() - _AROUND)
    preview = hit.text[start : start + 2 * _AROUND]
    if entry is None:
        summary = summary_in(hit.event)
        name = summary.summary_id if summary else None
        return TextMatch(version=hit.event.version, kind="summary", preview=preview, count=len(found), summary_id=name)
    return TextMatch(
        version=entry.version,
        kind=entry.kind,
        preview=preview,
        count=len(found),
        entry_id=entry.entry_id,
        role=entry.role,
    )
