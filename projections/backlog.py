"""What of a session is still to be done in the background: messages to extract and to index, memories to promote.

Unlike the state it knows what has left the window since: a message that was summarised is extracted all the same,
and a memory that was removed is promoted all the same (http W-48 … W-50).
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from ledger.errors import UnknownEvent
from ledger.events import (
    EntriesExtracted,
    EntriesIndexed,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    MemoryAdded,
    MemoryEdited,
    MemoryPromoted,
    OpaqueEvent,
    Ranges,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
)
from projections import ranges
from projections.projection import Projection


class Backlog(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is left after the event at *version*, in the life that began at *life* and since *cleared_version*.

    *changed_version* is that of the newest event that edited or withdrew a message which was still to be done,
    *edited_version* of the newest that edited such a memory.
    """

    version: int = 0
    life: int = 0
    cleared_version: int = 0
    changed_version: int = 0
    edited_version: int = 0
    #: Versions of messages no memories were made of yet.
    unextracted: Ranges = ()
    #: Versions of messages that are no records of their own yet.
    unindexed: Ranges = ()
    #: Versions of memories that are no records yet.
    unpromoted: tuple[int, ...] = ()
    #: When the newest message was recorded, in microseconds.
    spoken_us: int = 0
    #: When the newest memory was recorded, in microseconds.
    noted_us: int = 0

    def is_still(self, read: "Backlog", covered: Ranges) -> bool:
        """Tell whether what was *read* of the messages *covered* is as it was, and still to be extracted."""
        return self._follows(read) and _within(covered, self.unextracted)

    def is_unindexed_still(self, read: "Backlog", covered: Ranges) -> bool:
        """Tell whether what was *read* of the messages *covered* is as it was, and still to be indexed."""
        return self._follows(read) and _within(covered, self.unindexed)

    def is_unpromoted_still(self, read: "Backlog", memories: Iterable[int]) -> bool:
        """Tell whether what was *read* of the *memories* is as it was, and still to be promoted."""
        same = self.life == read.life and self.edited_version <= read.version
        return same and set(memories) <= set(self.unpromoted)

    def _follows(self, read: "Backlog") -> bool:
        same = (self.life, self.cleared_version) == (read.life, read.cleared_version)
        return same and self.changed_version <= read.version


def evolve(state: Backlog, event: RecordedEvent) -> Backlog:
    """Return the backlog after *event*.

    Raises:
        UnknownEvent: a newer release wrote it; folding on without it would be wrong.
    """
    return replace(_changed(state, event), version=event.version)


def _changed(state: Backlog, event: RecordedEvent) -> Backlog:
    match event.payload:
        case SessionOpened():
            return Backlog(life=event.version, cleared_version=event.version)
        case SessionCleared(ended=True):
            return Backlog(cleared_version=event.version)
        case SessionCleared():
            return replace(state, cleared_version=event.version, unextracted=(), unindexed=())
        case EntryAdded() as payload:
            return _spoken(state, event, payload)
        case EntryEdited() | EntryRemoved() as payload:
            return _reworded(state, event, payload)
        case EntriesExtracted(covered=covered):
            return replace(state, unextracted=without(state.unextracted, covered))
        case EntriesIndexed(covered=covered):
            return replace(state, unindexed=without(state.unindexed, covered))
        case MemoryAdded(persisted_at=None):
            return replace(state, unpromoted=(*state.unpromoted, event.version), noted_us=event.recorded_us)
        case MemoryEdited(memory_version=version) if version in state.unpromoted:
            return replace(state, edited_version=event.version)
        case MemoryPromoted(memory_version=version):
            return replace(state, unpromoted=tuple(item for item in state.unpromoted if item != version))
        case OpaqueEvent(type=type_, schema_version=schema_version):
            raise UnknownEvent(type_, schema_version, version=event.version)
        case _:
            return state


def _spoken(state: Backlog, event: RecordedEvent, payload: EntryAdded) -> Backlog:
    if payload.kind != "message":
        return state
    spoken = replace(state, spoken_us=event.recorded_us)
    if not payload.extracted:
        spoken = replace(spoken, unextracted=ranges.add(state.unextracted, event.version))
    if payload.persisted_at is None:
        spoken = replace(spoken, unindexed=ranges.add(state.unindexed, event.version))
    return spoken


def _reworded(state: Backlog, event: RecordedEvent, payload: EntryEdited | EntryRemoved) -> Backlog:
    """Return the backlog after a message that is perhaps still to be done was edited, or withdrawn."""
    version = payload.entry_version
    if not ranges.contains(state.unextracted, version) and not ranges.contains(state.unindexed, version):
        return state
    removed_range = ((version, version),) if isinstance(payload, EntryRemoved) else ()
    return replace(
        state,
        changed_version=event.version,
        unextracted=without(state.unextracted, removed_range),
        unindexed=without(state.unindexed, removed_range),
    )


def first(wanted: Ranges, count: int) -> Ranges:
    """Return the first *count* versions in *wanted*."""
    taken: list[tuple[int, int]] = []
    for start, end in wanted:
        if count <= 0:
            break
        taken.append((start, min(end, start + count - 1)))
        count -= end - start + 1
    return tuple(taken)


def without(left: Ranges, removed: Ranges) -> Ranges:
    """Return *left* without the versions in *removed*."""
    for start, end in removed:
        left = tuple(_apart(left, start, end))
    return left


def _apart(left: Ranges, start: int, end: int) -> Iterable[tuple[int, int]]:
    for first, other in left:
        if other < start or first > end:
            yield first, other
            continue
        if first < start:
            yield first, start - 1
        if other > end:
            yield end + 1, other


def _within(covered: Ranges, left: Ranges) -> bool:
    return all(any(start <= first and other <= end for start, end in left) for first, other in covered)


#: Snapshots of it carry this name and version.
BACKLOG: Projection[Backlog] = Projection("backlog", 1, Backlog(), evolve)
