"""Compare the whole content of two states of a session; `difference` compares what was shown.

Source: http W-72.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from ledger.events import CompactionCompleted, JsonObject, Ranges
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.summaries import Summary
from projections.values import ranges
from projections.values.json_patch import json_patch
from projections.working_memory import Memory

T = TypeVar("T")


class Pair(msgspec.Struct, Generic[T], frozen=True):
    """The same thing on both sides."""

    before: T
    after: T


class EntryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of the window: *covered* ones left it by compactions, *removed* ones in any other way."""

    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()
    edited: tuple[Pair[Entry], ...] = ()
    covered: tuple[Entry, ...] = ()


class MemoryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Structured memories of the session."""

    added: tuple[Memory, ...] = ()
    removed: tuple[Memory, ...] = ()
    edited: tuple[Pair[Memory], ...] = ()


class SummaryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Live summaries."""

    added: tuple[Summary, ...] = ()
    removed: tuple[Summary, ...] = ()


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one state to another.

    *data* is a JSON Patch (RFC 6902). *context* is the text that stands for what left the window, none if there is
    none. *tokens* counts window and summaries.
    """

    versions: Pair[int]
    tokens: Pair[int]
    context: Pair[str | None]
    entries: EntryChanges
    summaries: SummaryChanges
    memories: MemoryChanges
    data: tuple[JsonObject, ...]


def compare(before: SessionState, after: SessionState, covered: Ranges = ()) -> Changes:
    """Return what changed from *before* to *after*; *covered* are the versions that compactions took on the way."""
    return Changes(
        versions=Pair(before.version, after.version),
        tokens=Pair(_tokens(before), _tokens(after)),
        context=Pair(working_context(before), working_context(after)),
        entries=_entries(before, after, covered),
        summaries=_summaries(before, after),
        memories=_memories(before, after),
        data=tuple(json_patch(before.working.data, after.working.data)),
    )


def _tokens(state: SessionState) -> int:
    return state.window.tokens + state.summaries.tokens


def _entries(before: SessionState, after: SessionState, covered: Ranges) -> EntryChanges:
    old = {entry.version: entry for entry in before.window.entries}
    new = {entry.version: entry for entry in after.window.entries}
    left = [entry for version, entry in old.items() if version not in new]
    return EntryChanges(
        added=tuple(entry for version, entry in new.items() if version not in old),
        removed=tuple(entry for entry in left if not ranges.contains(covered, entry.version)),
        edited=tuple(
            Pair(entry, new[version])
            for version, entry in old.items()
            if version in new and (entry.role, entry.content) != (new[version].role, new[version].content)
        ),
        covered=tuple(entry for entry in left if ranges.contains(covered, entry.version)),
    )


def _memories(before: SessionState, after: SessionState) -> MemoryChanges:
    old = {memory.version: memory for memory in before.working.memories}
    new = {memory.version: memory for memory in after.working.memories}
    return MemoryChanges(
        added=tuple(memory for version, memory in new.items() if version not in old),
        removed=tuple(memory for version, memory in old.items() if version not in new),
        edited=tuple(
            Pair(memory, new[version])
            for version, memory in old.items()
            if version in new and memory.fields != new[version].fields
        ),
    )


def _summaries(before: SessionState, after: SessionState) -> SummaryChanges:
    old = {summary.summary_id: summary for summary in before.summaries.live}
    new = {summary.summary_id: summary for summary in after.summaries.live}
    return SummaryChanges(
        added=tuple(summary for name, summary in new.items() if name not in old),
        removed=tuple(summary for name, summary in old.items() if name not in new),
    )


def working_context(state: SessionState) -> str | None:
    """Return the texts of the live summaries, oldest first; None if there is no summary."""
    return "\n\n".join(summary.text for summary in state.summaries.live) or None


def covered_by(completed: Iterable[CompactionCompleted]) -> Ranges:
    """Return the versions that *completed* compactions took out of the window."""
    return ranges.union(payload.covered for payload in completed if payload.effect != "overlay")
