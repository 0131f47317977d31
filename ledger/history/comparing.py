"""What changed between two states of a session: its whole content, where `difference` is about what was shown.

Source: http W-72.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from ledger.events import CompactionCompleted, JsonObject, Ranges
from ledger.session.state import SessionState
from projections import ranges
from projections.entries import Entry
from projections.json_patch import json_patch
from projections.summaries import Summary
from projections.working_memory import Memory

EntryChangeKind: TypeAlias = Literal["added", "removed", "edited", "covered"]


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """From one state to another; *edited* pairs are the item before and after.

    *covered* entries left the window by compactions, those *removed* in any other way. *data* is a JSON Patch
    (RFC 6902). The contexts are the texts that stand for what left, none if there is none.
    """

    from_version: int
    to_version: int
    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()
    covered: tuple[Entry, ...] = ()
    edited: tuple[tuple[Entry, Entry], ...] = ()
    data: tuple[JsonObject, ...] = ()
    memories_added: tuple[Memory, ...] = ()
    memories_removed: tuple[Memory, ...] = ()
    memories_edited: tuple[tuple[Memory, Memory], ...] = ()
    summaries_added: tuple[Summary, ...] = ()
    summaries_removed: tuple[Summary, ...] = ()
    from_context: str | None = None
    to_context: str | None = None
    from_tokens: int = 0
    to_tokens: int = 0


def compare(before: SessionState, after: SessionState, covered: Ranges = ()) -> Changes:
    """Return what changed from *before* to *after*; *covered* are the versions that compactions took on the way."""
    here = {entry.version: entry for entry in before.window.entries}
    there = {entry.version: entry for entry in after.window.entries}
    removed_entries = [entry for version, entry in here.items() if version not in there]
    had = {memory.version: memory for memory in before.working.memories}
    has = {memory.version: memory for memory in after.working.memories}
    stood = {summary.summary_id: summary for summary in before.summaries.live}
    stands = {summary.summary_id: summary for summary in after.summaries.live}
    return Changes(
        from_version=before.version,
        to_version=after.version,
        added=tuple(entry for version, entry in there.items() if version not in here),
        removed=tuple(entry for entry in removed_entries if not ranges.contains(covered, entry.version)),
        covered=tuple(entry for entry in removed_entries if ranges.contains(covered, entry.version)),
        edited=tuple(
            (entry, there[version])
            for version, entry in here.items()
            if version in there and (entry.role, entry.content) != (there[version].role, there[version].content)
        ),
        data=tuple(json_patch(before.working.data, after.working.data)),
        memories_added=tuple(memory for version, memory in has.items() if version not in had),
        memories_removed=tuple(memory for version, memory in had.items() if version not in has),
        memories_edited=tuple(
            (memory, has[version])
            for version, memory in had.items()
            if version in has and memory.fields != has[version].fields
        ),
        summaries_added=tuple(summary for name, summary in stands.items() if name not in stood),
        summaries_removed=tuple(summary for name, summary in stood.items() if name not in stands),
        from_context=working_context(before),
        to_context=working_context(after),
        from_tokens=before.window.tokens + before.summaries.tokens,
        to_tokens=after.window.tokens + after.summaries.tokens,
    )


def working_context(state: SessionState) -> str | None:
    """Return the texts that stand for what has left the window, oldest first; none if nothing does."""
    return "\n\n".join(summary.text for summary in state.summaries.live) or None


def covered_by(completed: Iterable[CompactionCompleted]) -> Ranges:
    """Return the versions that *completed* compactions took out of the window."""
    return ranges.union(payload.covered for payload in completed if payload.effect != "overlay")
