"""Every entry that a session ever had, and its status. Unlike the state, this grows with the history."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import asdict, replace

from ledger.errors import UnknownEvent
from ledger.events import (
    CompactionCompleted,
    ContextSet,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    OpaqueEvent,
    Ranges,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
)
from projections.entries import Entry, added, edited
from projections.projection import Projection
from projections.summaries import Summary, summary_context, summary_of
from projections.values import ranges
from projections.values.persistent_list import PersistentList

PastEntryStatus: TypeAlias = Literal["active", "covered", "erased", "removed", "cleared"]


class PastEntry(Entry, frozen=True, gc=False):
    """An entry, its status, and the summaries that stand for it."""

    status: PastEntryStatus = "active"
    summary_ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Entry, status: PastEntryStatus = "active", summary_ids: tuple[str, ...] = ()) -> "PastEntry":
        """Return *entry* with its status and summaries."""
        return cls(**asdict(entry), status=status, summary_ids=summary_ids)


class History(msgspec.Struct, frozen=True):
    """All entries, oldest first, and all summaries ever created, including folded and evicted ones."""

    entries: PersistentList[PastEntry] = PersistentList()
    summaries: PersistentList[Summary] = PersistentList()
    cleared_version: int = 0

    def current(self) -> tuple[PastEntry, ...]:
        """Return the entries since the last clear; of one that a restore brought back, only the newest."""
        newest = {past.entry_id: past.version for past in self.entries if past.status != "cleared"}
        return tuple(past for past in self.entries if newest.get(past.entry_id) == past.version)

    def within(self, covered: Ranges) -> tuple[PastEntry, ...]:
        """Return the entries whose versions are in *covered*, oldest first."""
        return tuple(past for past in self.entries if ranges.contains(covered, past.version))


def evolve(state: History, event: RecordedEvent) -> History:
    """Return the history after *event*.

    Raises:
        UnknownEvent: a newer release wrote it; a history without it would be wrong.
    """
    match event.payload:
        case EntryAdded() as payload:
            return replace(state, entries=state.entries.append(PastEntry.of(added(event, payload))))
        case CompactionCompleted() as payload:
            return _compact(state, event, payload)
        case EntryEdited() as payload:
            return _change(state, payload.entry_version, lambda past: edited(past, event, payload))
        case EntryRemoved(entry_version=version):
            return _change(state, version, lambda past: replace(past, status="removed"))
        case RebuildCompleted():
            again = (past if past.status == "cleared" else replace(past, summary_ids=()) for past in state.entries)
            return replace(state, entries=PersistentList(again))
        case EntriesReturned(entries=back):
            for entry in back:
                state = _change(state, entry.version, lambda past: replace(past, status="active"))
            return state
        case SessionCleared():
            cleared = (replace(past, status="cleared") for past in state.entries)
            return replace(state, entries=PersistentList(cleared), cleared_version=event.version)
        case ContextSet() as context:
            written = summary_context(event, context)
            return replace(state, summaries=state.summaries.append(written)) if written else state
        case OpaqueEvent(type=name, schema_version=schema_version):
            raise UnknownEvent(name, schema_version, version=event.version)
        case _:
            return state


def _compact(state: History, event: RecordedEvent, payload: CompactionCompleted) -> History:
    status: PastEntryStatus = "erased" if payload.effect == "erase" else "covered"
    summary_ids = (payload.summary_id,) if payload.summary_id else ()
    entries = state.entries
    for first, last in payload.covered:
        index = entries.bisect(_version, first)
        while index < len(entries) and (past := entries[index]).version <= last:
            after = past.status if payload.effect == "overlay" else status
            fresh = tuple(name for name in summary_ids if name not in past.summary_ids)  # a restored one covers again
            entries = entries.replace(index, replace(past, status=after, summary_ids=past.summary_ids + fresh))
            index += 1
    summaries = state.summaries
    if payload.summary_id:
        summaries = summaries.append(summary_of(event, payload, payload.summary_id))
    return replace(state, entries=entries, summaries=summaries)


def _change(state: History, version: int, change: Callable[[PastEntry], PastEntry]) -> History:
    index = state.entries.bisect(_version, version)
    if index == len(state.entries) or state.entries[index].version != version:
        return state
    return replace(state, entries=state.entries.replace(index, change(state.entries[index])))


def _version(past: PastEntry) -> int:
    return past.version


HISTORY: Projection[History] = Projection("history", 2, History(), evolve)
