"""Pages of the log as stored projections fold them: the events of sessions, in position order."""

from typing import Final, NamedTuple

from ledger.events import StoredEvent
from ledger.events.chain import check_positions
from ledger.events.ids import Stream, namespace_id
from ledger.ports import Store

#: A page of the log ends with the event that brings its payloads to so many bytes: a page costs memory and time by the
#: size of its texts too.
PAGE_BYTES: Final = 4 * 1024 * 1024


class PageOfSessions(NamedTuple):
    """The events of sessions up to *position*, oldest first; those of other streams are left out (trust R-1)."""

    position: int
    sessions: dict[Stream, list[StoredEvent]]


async def read_page(store: Store, namespace: str, *, after: int, limit: int, also: str | None = None) -> PageOfSessions:
    """Return a page of up to *limit* events after position *after*, in two reads, however many sessions it has.

    With *also*, streams of that name are not left out.
    """
    own = namespace_id(namespace)
    events = await store.events.read_namespace(own, after=after, limit=limit, most_bytes=PAGE_BYTES)
    check_positions(events, after=after)
    if not events:
        return PageOfSessions(after, {})
    by_id: dict[int, list[StoredEvent]] = {}  # by the id's number, which hashes at once
    for event in events:
        by_id.setdefault(event.stream_id.int, []).append(event)
    ids = [found[0].stream_id for found in by_id.values()]
    names = await store.events.named(own, ids)
    sessions = {
        Stream(namespace, *names[stream_id], own, stream_id): by_id[stream_id.int]
        for stream_id in ids
        if not names[stream_id][1].startswith("/") or names[stream_id][1] == also
    }
    return PageOfSessions(events[-1].position, sessions)
