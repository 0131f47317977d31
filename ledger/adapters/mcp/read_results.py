"""What the tools that read return: pages of entries, of sessions, of results."""

from collections.abc import Sequence
from uuid import UUID

from ledger.adapters.mcp.result_pages import Filling, ListCursor
from ledger.adapters.mcp.tool_calls import LedgerOfCall
from ledger.adapters.mcp.tool_shapes import (
    FoundText,
    HistoryPage,
    ListedSessions,
    MemoryText,
    SessionRow,
    moment,
)
from ledger.application.reading.entry_pages import MOST_WHOLE, EntryRow
from ledger.errors import InvalidInput
from ledger.events import to_datetime, to_microseconds
from ledger.indexes.search.search_results import SearchResult
from ledger.ports.session_index import LifeStatus
from ledger.results import When
from projections.window import Window


async def history_page(
    call: LedgerOfCall,
    session_id: str,
    user_id: str | None,
    place: ListCursor,
    version: int | None,
    first: int,
    filling: Filling,
) -> HistoryPage:
    """Return the entries from version *first* on, as of *version*, that fit into *filling*."""
    entries: list[MemoryText] = []
    following: int | None = first
    while following is not None and not filling.full:
        rows = await call.ledger.list_entries(
            session_id, from_version=following, limit=MOST_WHOLE, version=version, full=True, user_id=user_id
        )
        version, before = rows.version, filling.count
        entries += filling.take([_past(row) for row in rows.entries])
        whole = filling.count - before
        following = rows.entries[whole].version if filling.full else rows.next_from
    cursor = None if following is None else place.cursor(version or 0, following, filling.offset)
    return HistoryPage(session_id=session_id, version=version or 0, entries=entries, next_cursor=cursor)


async def sessions_page(
    call: LedgerOfCall,
    user_id: str | None,
    status: LifeStatus | None,
    id_part: str | None,
    limit: int,
    cursor: str | None,
) -> ListedSessions:
    """Return a page of the sessions, the last written first."""
    place = ListCursor("list_sessions", user_id, status, id_part)
    micros, stream = place.read(cursor, 0, "")
    after = (to_datetime(micros), _stream_id(stream)) if cursor is not None else None
    found = await call.ledger.list_sessions(
        user_id=user_id, status=status, id_part=id_part, after=after, limit=limit + 1
    )
    now = call.handle.services.clock.now()
    rows = [
        SessionRow(
            session_id=row.session_id,
            user_id=row.user_id or None,
            status=row.status_at(now),
            version=row.version,
            entries=row.entries,
            active=row.active,
            summaries=row.summaries,
            total_tokens=row.total_tokens,
            updated_at=moment(row.updated_at),
        )
        for row in found[:limit]
    ]
    last = found[limit - 1] if len(found) > limit else None
    following = None if last is None else place.cursor(to_microseconds(last.updated_at), last.stream_id.hex)
    return ListedSessions(sessions=rows, next_cursor=following)


def texts_of(window: Window) -> list[MemoryText]:
    """Return what *window* shows, oldest first, and the pieces of knowledge before that."""
    knowledge: Sequence[MemoryText] = [
        MemoryText(type="knowledge", id=piece.source.session_id, version=piece.source.version, text=piece.text)
        for piece in window.knowledge
    ]
    return [*knowledge, *(MemoryText.of(item) for item in window.oldest_first().items)]


def point(version: int | None, at: str | None) -> int | str | None:
    """Return a point in time: a version, a time, or None for now.

    Raises:
        InvalidInput: ``bad_version``: both were given.
    """
    if version is not None and at is not None:
        raise InvalidInput("bad_version", "give a version or a time, not both", field="at")
    return version if version is not None else at


def at_version(user_id: str | None, version: int | None) -> When:
    """Return whose session is read, and the version, if there is one."""
    return {"user_id": user_id} if version is None else {"user_id": user_id, "version": version}


def when_of(user_id: str | None, version: int | None, at: str | None) -> When:
    """Return whose session is read, and the version or the time, if there is one."""
    when: When = {"user_id": user_id}
    match point(version, at):
        case int(number):
            when["version"] = number
        case str(time):
            when["at"] = time
    return when


def _past(row: EntryRow) -> MemoryText:
    return MemoryText(
        id=row.entry_id,
        version=row.version,
        role=row.role,
        kind=row.kind,
        tool_name=row.tool_name,
        tool_call_id=row.tool_call_id,
        tool_status=row.tool_status,
        status=row.status,
        created_at=moment(row.created_at),
        text=row.content or "",
    )


def found_text(found: SearchResult) -> FoundText:
    """Return what a search found as the tools show it."""
    entry, summary = found.entry, found.summary
    return FoundText(
        text=found.text,
        session_id=found.session_id,
        user_id=found.user_id or None,
        type=found.kind,
        id=entry.entry_id if entry else summary.summary_id if summary else None,
        version=found.version,
        role=entry.role if entry else None,
        score=found.score,
    )


def _stream_id(text: str) -> UUID:
    try:
        return UUID(hex=text)
    except ValueError:
        raise InvalidInput("bad_cursor", "must be the next_cursor of a page", field="cursor") from None
