"""Compare what is stored of an imported session with what its file says, as this version reads it."""

# adapters IN-22

from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from ledger.errors import SessionExists
from ledger.events import (
    CompactionCompleted,
    ContextSet,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    OpaqueEvent,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
)
from ledger.events.canonical import canonical_json
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.session.state import SessionState
from projections.values import ranges

_PAGE: Final = 500
_WINDOW_EVENTS: Final = (
    *(EntryAdded, EntryEdited, EntryRemoved, ContextSet),
    *(CompactionCompleted, RebuildCompleted, SessionCleared, OpaqueEvent),
)


async def is_read_otherwise(
    store: Store, stream: Stream, state: SessionState, new: Iterable[Event | Stream], *, lives: bool
) -> bool:
    """Tell whether the newest import of the session says something else than *new*, as far as both go.

    *new* has the events that an import into an empty session would write; ids of writes, versions and counts of tokens
    do not matter.

    Raises:
        SessionExists: it does; but the session was not imported, *lives* no more, or somebody changed its window since.
    """
    opened, began = await _beginning(store, stream, state)
    events = (event for event in new if not isinstance(event, Stream))
    shapes = _Shapes().all(enumerate(events, state.version + 1))
    stored, entry_ids = _Shapes(), set[str]()
    differs, is_ours, ended = False, opened and lives, False
    async for write in _writes(store, stream, began):
        if not _is_import(write, entry_ids):
            is_ours = is_ours and not any(isinstance(event.payload, _WINDOW_EVENTS) for event in write)
            continue
        for shape in stored.all((event.version, event.payload) for event in write):
            expected = next(shapes, None)
            ended = ended or expected is None
            differs = differs or (not ended and shape != expected)
    if differs and not is_ours:
        raise SessionExists(stream.session_id, "was not imported, or somebody wrote to it since; it is not read again")
    return differs


async def is_untouched(store: Store, stream: Stream, state: SessionState) -> bool:
    """Tell whether nobody changed the window of a fork since it began."""
    async for write in _writes(store, stream, state.life):
        if any(isinstance(event.payload, _WINDOW_EVENTS) for event in write):
            return False
    return state.opened


async def _beginning(store: Store, stream: Stream, state: SessionState) -> tuple[bool, int]:
    """Return whether an import opened the session, and after which version its newest reading is stored."""
    versions = await store.events.find_types(stream, [SessionCleared.type], after=state.life)
    wanted = ranges.ranges_of([state.life, *versions])
    events = [decode(stored) for stored in await store.events.read_versions(stream, wanted)]
    opening = events[0].payload
    is_imported = isinstance(opening, SessionOpened) and opening.imported_from is not None
    again = (each.version for each in events if isinstance(each.payload, SessionCleared) and each.payload.reread)
    return is_imported, max(again, default=state.life)


async def _writes(store: Store, stream: Stream, after: int) -> AsyncIterator[list[RecordedEvent]]:
    """Yield the events after version *after*, those of one write together."""
    write: list[RecordedEvent] = []
    while page := await store.events.read_stream(stream, after=after, limit=_PAGE):
        after = page[-1].version
        for event in map(decode, page):
            if write and (_write_id(write[0]) is None or _write_id(event) != _write_id(write[0])):
                yield write
                write = []
            write.append(event)
    if write:
        yield write


def _write_id(event: RecordedEvent) -> str | None:
    return None if isinstance(event.payload, OpaqueEvent) else event.payload.write_id


def _is_import(write: Sequence[RecordedEvent], entry_ids: set[str]) -> bool:
    """Tell whether an import made the *write*: it adds entries, each for the first time; they go into *entry_ids*."""
    added = [event.payload for event in write if isinstance(event.payload, EntryAdded)]
    new = {entry.entry_id for entry in added}
    if not new or new & entry_ids or not all(entry.past for entry in added):
        return False
    entry_ids |= new
    return not any(isinstance(event.payload, SessionCleared) for event in write)


class _Shapes:
    """What the events of one reading say; entries are named by their number in it, not by their version."""

    def __init__(self) -> None:
        self._added: list[int] = []

    def all(self, events: Iterable[tuple[int, Event | OpaqueEvent]]) -> Iterator[bytes]:
        """Yield what *events*, each with its version, say of the window."""
        for version, event in events:
            found = self._of(version, event)
            if found is not None:
                yield canonical_json(found)

    def _of(self, version: int, event: Event | OpaqueEvent) -> object:
        match event:
            case EntryAdded():
                self._added.append(version)
                return msgspec.structs.replace(
                    event, write_id="", tokens=0, tokenizer="", fallback=False, persisted_at=None, extracted=False
                )
            case EntryEdited():
                return ["edited", event.entry_id, event.content]
            case EntryRemoved():
                return ["removed", event.entry_id]
            case ContextSet():
                return ["context", event.folds]
            case CompactionCompleted():
                numbers = [
                    number
                    for first, last in event.covered
                    for number in range(bisect_left(self._added, first), bisect_right(self._added, last))
                ]
                place = bisect_left(self._added, event.first_version)
                return [event.effect, event.summary_id, event.text, event.folds, ranges.ranges_of(numbers), place]
        return None
