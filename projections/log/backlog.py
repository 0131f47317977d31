"""The background work that a session still needs: messages to extract and to index, memories to promote, compactions.

Unlike the state it includes what has left the window: a summarised message is still extracted, and a removed memory
is still promoted (http W-48 … W-50).
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from ledger.errors import UnknownEvent
from ledger.events import (
    ConfigChanged,
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
from projections.projection import Projection
from projections.values import ranges


class Backlog(msgspec.Struct, frozen=True, omit_defaults=True):
    """The work left after the event at *version*, in the life that began at *life* and since *cleared_version*.

    *changed_version* is the version of the newest event that edited or removed a message with work left,
    *edited_version* that of the newest event that edited such a memory.
    """

    version: int = 0
    life: int = 0
    cleared_version: int = 0
    changed_version: int = 0
    edited_version: int = 0
    #: Versions of messages from which no memories were extracted yet.
    unextracted: Ranges = ()
    #: Versions of messages that are not records yet.
    unindexed: Ranges = ()
    #: Versions of memories that are not records yet.
    unpromoted: tuple[int, ...] = ()
    #: When the newest message was recorded, in microseconds.
    spoken_us: int = 0
    #: When the newest memory was recorded, in microseconds.
    noted_us: int = 0
    #: The write of the newest batch of entries, if compactions are evaluated after it (R-CMP-8); otherwise empty.
    batch: str = ""
    #: The version up to which events are copies from an export file.
    copied_until: int = 0

    def is_still(self, read: "Backlog", covered: Ranges) -> bool:
        """Tell whether the messages *covered* are as they were *read*, and still to be extracted."""
        return self._follows(read) and _within(covered, self.unextracted)

    def is_unindexed_still(self, read: "Backlog", covered: Ranges) -> bool:
        """Tell whether the messages *covered* are as they were *read*, and still to be indexed."""
        return self._follows(read) and _within(covered, self.unindexed)

    def is_unpromoted_still(self, read: "Backlog", memories: Iterable[int]) -> bool:
        """Tell whether the *memories* are as they were *read*, and still to be promoted."""
        same = self.life == read.life and self.edited_version <= read.version
        return same and set(memories) <= set(self.unpromoted)

    def _follows(self, read: "Backlog") -> bool:
        same = (self.life, self.cleared_version) == (read.life, read.cleared_version)
        return same and self.changed_version <= read.version


def evolve(state: Backlog, event: RecordedEvent) -> Backlog:
    """Return the backlog after *event*.

    Raises:
        UnknownEvent: a newer release wrote it; a fold without it would be wrong.
    """
    changed = _changed(state, event)
    return replace(changed, version=event.version, batch=_batch(changed, event))


def _changed(state: Backlog, event: RecordedEvent) -> Backlog:
    match event.payload:
        case SessionOpened(imported_from=origin):
            copied_until = (origin.version or 0) if origin else 0
            return Backlog(life=event.version, cleared_version=event.version, copied_until=copied_until)
        case SessionCleared(ended=True):
            return Backlog(cleared_version=event.version)
        case SessionCleared():
            return replace(state, cleared_version=event.version, unextracted=(), unindexed=())
        case EntryAdded() as payload:
            return _with_message(state, event, payload)
        case EntryEdited() | EntryRemoved() as payload:
            return _with_changed_message(state, event, payload)
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


def _batch(state: Backlog, event: RecordedEvent) -> str:
    match event.payload:
        case EntryAdded(write_id=write_id, past=past):
            return "" if past or event.version <= state.copied_until else write_id
        case SessionOpened() | SessionCleared():
            return ""
        case ConfigChanged(write_id=write_id) if write_id != state.batch:  # it acts from the next batch on
            return ""
        case _:
            return state.batch


def _with_message(state: Backlog, event: RecordedEvent, payload: EntryAdded) -> Backlog:
    if payload.kind != "message":
        return state
    return replace(
        state,
        spoken_us=event.recorded_us,
        unextracted=state.unextracted if payload.extracted else ranges.add(state.unextracted, event.version),
        unindexed=state.unindexed if payload.persisted_at else ranges.add(state.unindexed, event.version),
    )


def _with_changed_message(state: Backlog, event: RecordedEvent, payload: EntryEdited | EntryRemoved) -> Backlog:
    """Return the backlog after an entry, perhaps a message with work left, was edited or removed."""
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
        left = tuple(_cut_out(left, start, end))
    return left


def _cut_out(left: Ranges, start: int, end: int) -> Iterable[tuple[int, int]]:
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


#: The backlog as a projection: snapshots have this name and version.
BACKLOG: Projection[Backlog] = Projection("backlog", 2, Backlog(), evolve)
