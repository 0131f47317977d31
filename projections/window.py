"""The entries in the window, as a fold; and the result of a window strategy. Source: R-GEN-4, R-WIN."""

from collections.abc import Sequence
from itertools import chain, pairwise

import msgspec
from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    KnowledgeSource,
    Ranges,
    RecordedEvent,
    SessionCleared,
    ToolStatus,
)
from projections.entries import Entry, added, edited, returned
from projections.paged_entries import PagedEntries
from projections.summaries import Summary
from projections.tool_pairs import Call
from projections.values import ranges
from projections.words.word_index import Why


class ActiveEntries(msgspec.Struct, frozen=True):
    """The entries that no compaction, removal or clear has removed, oldest first."""

    entries: PagedEntries = PagedEntries()
    tokens: int = 0
    #: Versions of the pinned ones, and their tokens.
    pinned: tuple[int, ...] = ()
    pinned_tokens: int = 0
    #: How many are user messages.
    users: int = 0
    #: Of each tool and outcome, the version of the newest result since the last clear, which may have left since.
    ran: tuple[tuple[str, ToolStatus, int], ...] = ()
    #: An older result may belong to another call than when it was added, because a change split a unit.
    unsure: int = 0

    def at(self, version: int) -> Entry | None:
        """Return the active entry of *version*."""
        return self.entries.at(version)

    def within(self, covered: Ranges) -> tuple[Entry, ...]:
        """Return the active entries in *covered*, oldest first."""
        return self.entries.within(covered)

    def all_pinned(self) -> tuple[Entry, ...]:
        """Return the pinned entries, which every window shows."""
        # R-WIN-2
        return self.within(ranges.ranges_of(self.pinned)) if self.pinned else ()

    @property
    def opening(self) -> Entry | None:
        """The oldest active user message, which prompts may name as the task."""
        parts = chain((page.read() for page in self.entries.pages if page.facts.users), (self.entries.tail,))
        return next((entry for part in parts for entry in part if entry.starts_interaction), None)

    def newest(self, entry_id: str) -> Entry | None:
        """Return the newest active entry with *entry_id*, or None."""
        return next((entry for entry in reversed(self.entries) if entry.entry_id == entry_id), None)

    def pairs_as_added(self) -> bool:
        """Tell whether each active result belongs to the call that it answered when it was added."""
        return not 0 < self.entries.first_call < self.unsure


def evolve(state: ActiveEntries, event: RecordedEvent, waiting: Sequence[Call] = ()) -> ActiveEntries:
    """Return the active entries after *event*; *waiting* are the calls without result before it."""
    match event.payload:
        case EntryAdded() as payload:
            return _add(state, added(event, payload))
        case CompactionCompleted(effect="replace" | "erase", covered=covered):
            return _remove(state, event, covered, waiting)
        case EntryEdited() as payload:
            return _edit(state, event, payload)
        case EntryRemoved(entry_version=version):
            return _remove(state, event, ((version, version),), waiting)
        case EntriesReturned() as payload:
            return _bring_back(state, event, payload)
        case SessionCleared():
            return ActiveEntries()
        case _:
            return state


def with_entries(state: ActiveEntries, entries: Sequence[Entry]) -> ActiveEntries:
    """Return *state* with *entries*, none of them pinned, at its end."""
    ran = state.ran
    for entry in entries:
        if entry.kind == "tool_result":
            ran = _ran(ran, entry)
    return replace(
        state,
        entries=state.entries.extend(entries),
        tokens=state.tokens + sum(entry.tokens for entry in entries),
        users=state.users + sum(entry.starts_interaction for entry in entries),
        ran=ran,
    )


def of_pages(entries: PagedEntries, *, ran: tuple[tuple[str, ToolStatus, int], ...], unsure: int) -> ActiveEntries:
    """Return the active *entries*, with what their pages know."""
    facts = entries.facts
    return ActiveEntries(
        entries,
        sum(part.tokens for part in facts),
        tuple(version for part in facts for version in part.pinned),
        sum(part.pinned_tokens for part in facts),
        sum(part.users for part in facts),
        ran,
        unsure,
    )


def _add(state: ActiveEntries, entry: Entry) -> ActiveEntries:
    pinned, pinned_tokens = state.pinned, state.pinned_tokens
    if entry.pinned:
        pinned, pinned_tokens = (*pinned, entry.version), pinned_tokens + entry.tokens
    return ActiveEntries(
        state.entries.append(entry),
        state.tokens + entry.tokens,
        pinned,
        pinned_tokens,
        state.users + entry.starts_interaction,
        _ran(state.ran, entry) if entry.kind == "tool_result" else state.ran,
        state.unsure,
    )


def _edit(state: ActiveEntries, event: RecordedEvent, payload: EntryEdited) -> ActiveEntries:
    before = state.at(payload.entry_version)
    if before is None:
        return state
    after = edited(before, event, payload)
    splits = after.starts_interaction and not before.starts_interaction
    return of_pages(
        state.entries.replace(after.version, lambda _: after),
        ran=_ran(state.ran, after) if after.kind == "tool_result" else state.ran,
        unsure=event.version if splits else state.unsure,
    )


def _bring_back(state: ActiveEntries, event: RecordedEvent, payload: EntriesReturned) -> ActiveEntries:
    active = {entry.version: entry for entry in state.entries}
    for each in payload.entries:
        if 0 < each.version < event.version:  # a foreign event may claim any number
            active.setdefault(each.version, returned(each))
    ordered = PagedEntries(active[version] for version in sorted(active))
    return of_pages(ordered, ran=state.ran, unsure=event.version)  # calls and results may pair otherwise now


def _remove(state: ActiveEntries, event: RecordedEvent, covered: Ranges, waiting: Sequence[Call]) -> ActiveEntries:
    entries, removed = state.entries.without(covered)
    unsure = state.unsure
    if removed.calls and any(not ranges.contains(covered, call.version) for call in waiting):
        unsure = event.version  # a result whose call left may answer one that waits
    if removed.results and 0 < entries.first_call < covered[-1][1]:
        unsure = event.version  # a call whose result left may wait again
    return of_pages(entries, ran=state.ran, unsure=unsure)


def _ran(ran: tuple[tuple[str, ToolStatus, int], ...], result: Entry) -> tuple[tuple[str, ToolStatus, int], ...]:
    outcome = result.outcome
    if result.tool_name is None or outcome is None:
        return ran
    known = {(tool, status): version for tool, status, version in ran}
    known[result.tool_name, outcome] = max(known.get((result.tool_name, outcome), 0), result.version)
    return tuple((tool, status, version) for (tool, status), version in known.items())


class Knowledge(msgspec.Struct, frozen=True):
    """A piece of a knowledge base: its text, and which part of which summary it is."""

    text: str
    source: KnowledgeSource


class RecalledEntry(msgspec.Struct, frozen=True):
    """An entry that a search brought into the window; *why* is None if it came with a hit, or in a recorded context."""

    version: int
    score: float
    why: Why | None


class Window(msgspec.Struct, frozen=True):
    """What the model is shown: summaries and entries in the order they are shown, and their count."""

    items: tuple[Summary | Entry, ...]
    tokens: int
    dropped: int = 0
    #: Tokens that the reader accepts; None for any number.
    limit: int | None = None
    #: Versions of entries that a search found, ascending, each with its score.
    recalled: tuple[tuple[int, float], ...] = ()
    #: Why a search found them, by version, where it is known.
    why: tuple[tuple[int, Why], ...] = ()
    #: Pieces of knowledge, best first: one context item after the summaries, outside every budget (R-KB-2).
    knowledge: tuple[Knowledge, ...] = ()
    knowledge_tokens: int = 0
    #: Versions of entries before which others are left out that a search could have brought back (R-REC-4).
    gaps: frozenset[int] = frozenset()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The shown entries, in shown order."""
        return tuple([item for item in self.items if isinstance(item, Entry)])

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The shown summaries, in shown order."""
        return tuple([item for item in self.items if isinstance(item, Summary)])

    @property
    def apart(self) -> frozenset[int]:
        """Versions of entries with which no answer goes on: entries before them are left out or have a summary."""
        after = (now for before, now in pairwise(self.items) if isinstance(before, Summary) and before.block is None)
        return self.gaps.union(entry.version for entry in after if isinstance(entry, Entry))

    def oldest_first(self) -> "Window":
        """Return the window as a chat is read: pinned entries, summaries, conversation, each oldest first."""
        pinned = (entry for entry in self.entries if entry.pinned)
        summaries = sorted(self.summaries, key=lambda summary: (summary.first_version, summary.version))
        spoken = sorted((entry for entry in self.entries if not entry.pinned), key=lambda entry: entry.version)
        return replace(self, items=(*pinned, *summaries, *spoken))


def runs_beside_recalled(window: Window, after: int) -> list[tuple[int, int]]:
    """Return the runs of versions, both ends included, that lie between shown entries of which a search found one.

    The first run begins after version *after*; not every version in a run is that of an entry.
    """
    recalled = {version for version, _ in window.recalled}
    shown = [after, *(entry.version for entry in window.entries)] if recalled else []
    return [(before + 1, now - 1) for before, now in pairwise(shown) if {before, now} & recalled and before + 1 < now]
