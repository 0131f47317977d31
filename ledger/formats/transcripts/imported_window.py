"""The window of a session while a transcript is imported: which entries a summary covers, which a rewind removes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Self

from ledger.events import CompactionCompleted, ContextSet, EntryAdded, EntryEdited, EntryRemoved
from ledger.formats.importers.elements.steps import Rewound, Summarized
from ledger.ports import Count
from ledger.session.commands import IMPORTED
from ledger.session.state import SessionState
from projections.content_facts import reads_as_error
from projections.values import ranges


class ImportedWindow:
    """The active entries by id, and the live summaries, of a session that an import continues."""

    def __init__(
        self,
        active: Mapping[str, tuple[int, int]] = {},
        pinned: Iterable[str] = (),
        summaries: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._active = dict(active)
        self._pinned = set(pinned)
        self._summaries = list(summaries)

    @classmethod
    def of(cls, state: SessionState) -> Self:
        """Return that of *state*, whose content has to be in memory meanwhile."""
        entries = state.window.entries
        return cls(
            {entry.entry_id: (entry.version, entry.tokens) for entry in entries},
            (entry.entry_id for entry in entries if entry.pinned),
            ((summary.summary_id, summary.first_version) for summary in state.summaries.live),
        )

    def copy(self) -> Self:
        """Return one of its own with the same entries and summaries."""
        return type(self)(self._active, self._pinned, self._summaries)

    @property
    def active(self) -> Collection[str]:
        """The ids of the active entries."""
        return self._active.keys()

    def add(self, entry: EntryAdded, version: int) -> None:
        """Take in *entry*, which is added at *version*."""
        self._active[entry.entry_id] = (version, entry.tokens)
        if entry.kind == "system_instruction" or (entry.kind == "message" and entry.role == "system"):
            self._pinned.add(entry.entry_id)

    def remove(self, entry_id: str, write_id: str) -> EntryRemoved | None:
        """Return the event that removes an entry; None if it is not active."""
        found = self._active.pop(entry_id, None)
        self._pinned.discard(entry_id)
        if found is None:
            return None
        return EntryRemoved(write_id=write_id, entry_id=entry_id, entry_version=found[0], tokens=found[1])

    def edit(self, entry_id: str, text: str, write_id: str, counted: Count) -> EntryEdited | None:
        """Return the event by which an entry has another *text*; None if it is not active."""
        found = self._active.get(entry_id)
        if found is None:
            return None
        self._active[entry_id] = (found[0], counted.tokens)
        return EntryEdited(
            write_id=write_id,
            entry_id=entry_id,
            entry_version=found[0],
            content=text,
            tokens=counted.tokens,
            tokens_before=found[1],
            tokenizer=counted.tokenizer,
            fallback=counted.fallback,
            reads_as_error=reads_as_error(text),
        )

    def rewind(self, step: Rewound, write_id: str) -> Iterator[EntryRemoved]:
        """Yield the removals of *step*."""
        for entry_id in step.removed:
            removed = self.remove(entry_id, write_id)
            if removed is not None:
                yield removed

    def summarize(
        self, step: Summarized, write_id: str, compaction_id: str, counted: Count, version: int
    ) -> CompactionCompleted:
        """Return the event, at *version*, by which a summary takes the place of summaries and entries.

        The pinned entries stay, and those that the step keeps.
        """
        spoken = {entry_id: place for entry_id, place in self._active.items() if entry_id not in self._pinned}
        covered = {entry_id: place for entry_id, place in spoken.items() if entry_id not in step.stays}
        versions = ranges.ranges_of(sorted(at for at, _ in covered.values()))
        if step.before:
            places = [self._active[step.before][0]]
        elif step.place == "last":
            places = [version]
        else:
            before = spoken if step.place == "first" else covered
            places = [at for at, _ in before.values()] + [first for _, first in self._summaries]
        event = CompactionCompleted(
            write_id=write_id,
            compaction_id=compaction_id,
            key=IMPORTED,
            strategy=IMPORTED,
            effect="replace" if versions else "overlay",
            covered=versions,
            tokens_before=sum(tokens for _, tokens in covered.values()),
            folds=tuple(summary_id for summary_id, _ in self._summaries),
            summary_id=step.summary_id,
            text=step.text,
            tokens_after=counted.tokens,
            tokenizer=counted.tokenizer,
            fallback=counted.fallback,
            method="imported",
            first_version=min(places, default=0),
        )
        self._active = {entry_id: place for entry_id, place in self._active.items() if entry_id not in covered}
        self._summaries = [(step.summary_id, event.first_version)]
        return event

    def empty(
        self, write_id: str, compaction_id: str, stays: Collection[str] = ()
    ) -> Iterator[CompactionCompleted | ContextSet]:
        """Yield the events by which every summary leaves the window, and every entry but those *stays*."""
        left = {entry_id: place for entry_id, place in self._active.items() if entry_id not in stays}
        if self._summaries:
            yield ContextSet(write_id=write_id, folds=tuple(summary_id for summary_id, _ in self._summaries))
        if left:
            yield erasure(left.values(), write_id, compaction_id)
        self._active = {entry_id: place for entry_id, place in self._active.items() if entry_id not in left}
        self._pinned, self._summaries = self._pinned & self._active.keys(), []


def erasure(places: Collection[tuple[int, int]], write_id: str, compaction_id: str) -> CompactionCompleted:
    """Return the event by which the entries at *places*, each a version and its tokens, leave the window."""
    return CompactionCompleted(
        write_id=write_id,
        compaction_id=compaction_id,
        key=IMPORTED,
        strategy=IMPORTED,
        effect="erase",
        covered=ranges.ranges_of(sorted(version for version, _ in places)),
        tokens_before=sum(tokens for _, tokens in places),
        method="imported",
    )
