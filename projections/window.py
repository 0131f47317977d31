"""The entries in the window, as a fold; and the result of a window strategy. Source: R-GEN-4, R-WIN."""

from itertools import pairwise

import msgspec

from ledger.events import (
    CompactionCompleted,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    KnowledgeSource,
    Ranges,
    RecordedEvent,
    SessionCleared,
)
from projections import ranges
from projections.entries import Entry, added, edited
from projections.persistent import PersistentList
from projections.summaries import Summary


class ActiveEntries(msgspec.Struct, frozen=True):
    """The entries that no compaction, removal or clear has removed, oldest first."""

    entries: PersistentList[Entry] = PersistentList()
    tokens: int = 0
    #: Versions of the pinned ones, which every window shows (R-WIN-2).
    pinned: tuple[int, ...] = ()

    def at(self, version: int) -> Entry | None:
        """Return the active entry of *version*."""
        index = self.entries.bisect(_version, version)
        if index < len(self.entries) and (found := self.entries[index]).version == version:
            return found
        return None

    def within(self, covered: Ranges) -> tuple[Entry, ...]:
        """Return the active entries in *covered*, oldest first."""
        found: list[Entry] = []
        for first, last in covered:
            index = self.entries.bisect(_version, first)
            while index < len(self.entries) and (entry := self.entries[index]).version <= last:
                found.append(entry)
                index += 1
        return tuple(found)

    @property
    def opening(self) -> Entry | None:
        """The oldest active user message, which prompts may name as the task."""
        return next((entry for entry in self.entries if entry.starts_interaction), None)

    def newest(self, entry_id: str) -> Entry | None:
        """Return the newest active entry with *entry_id*, or None."""
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index].entry_id == entry_id:
                return self.entries[index]
        return None


def evolve(state: ActiveEntries, event: RecordedEvent) -> ActiveEntries:
    """Return the active entries after *event*."""
    match event.payload:
        case EntryAdded() as payload:
            entry = added(event, payload)
            pinned = (*state.pinned, entry.version) if entry.pinned else state.pinned
            return ActiveEntries(state.entries.append(entry), state.tokens + entry.tokens, pinned)
        case CompactionCompleted(effect="replace" | "erase", covered=covered):
            return _of([entry for entry in state.entries if not ranges.contains(covered, entry.version)])
        case EntryEdited() as payload:
            return _of(
                [
                    edited(entry, event, payload) if entry.version == payload.entry_version else entry
                    for entry in state.entries
                ]
            )
        case EntryRemoved(entry_version=removed):
            return _of([entry for entry in state.entries if entry.version != removed])
        case SessionCleared():
            return ActiveEntries()
        case _:
            return state


def _of(entries: list[Entry]) -> ActiveEntries:
    return ActiveEntries(
        PersistentList(entries),
        sum(entry.tokens for entry in entries),
        tuple(entry.version for entry in entries if entry.pinned),
    )


class Knowledge(msgspec.Struct, frozen=True):
    """A piece of a knowledge base: its text, and which part of which summary it is."""

    text: str
    source: KnowledgeSource


class Window(msgspec.Struct, frozen=True):
    """What the model is shown: summaries and entries in the order they are shown, and their count."""

    items: tuple[Summary | Entry, ...]
    tokens: int
    over_budget: bool = False
    dropped: int = 0
    #: Versions of entries that a search found, ascending, each with its score.
    recalled: tuple[tuple[int, float], ...] = ()
    #: Pieces of knowledge, best first: one context item after the summaries, outside every budget (R-KB-2).
    knowledge: tuple[Knowledge, ...] = ()
    knowledge_tokens: int = 0

    @property
    def gaps(self) -> frozenset[int]:
        """Versions of entries before which something is left out, next to a recalled entry."""
        recalled = {version for version, _ in self.recalled}
        shown = [1, *(entry.version for entry in self.entries)]
        return frozenset(now for before, now in pairwise(shown) if {before, now} & recalled and now != before + 1)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The shown entries, in shown order."""
        return tuple(item for item in self.items if isinstance(item, Entry))

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The shown summaries, in shown order."""
        return tuple(item for item in self.items if isinstance(item, Summary))


def _version(entry: Entry) -> int:
    return entry.version
