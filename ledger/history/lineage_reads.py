"""The part of a session's lineage that a question needs, read from the log. Source: trust M-5, P-17."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    CompactionRequested,
    ContextRendered,
    ContextSet,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
)
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.entry_reads import read_types
from ledger.ports import Store
from projections.entries import Entry
from projections.log.lineage import LINEAGE, Lineage, SummaryOrigin, names_task
from projections.summaries import Summary
from projections.values import ranges
from projections.values.persistent_list import PersistentList

_PAGE: Final = 50


async def read_origins(store: Store, stream: Stream, shown: Iterable[Summary]) -> Lineage:
    """Return the summaries *shown* and those that they fold, through one another.

    Reads back from the newest of them, and only as far as the oldest that is folded.
    """
    origins = {
        each.summary_id: SummaryOrigin(each.version, each.summary_id, each.covered, each.folds) for each in shown
    }
    missing = {fold for origin in origins.values() for fold in origin.folds} - origins.keys()
    if missing:
        newest = max(origin.version for origin in origins.values())
        types = [CompactionCompleted.type, ContextSet.type]
        versions = await store.events.find_types(stream, types, until=newest)
        while missing and versions:
            versions, page = versions[:-_PAGE], versions[-_PAGE:]
            stored = await store.events.read_versions(stream, ranges.ranges_of(page))
            for found in reversed(list(LINEAGE.fold(map(decode, stored)).summaries)):
                if found.summary_id in missing:
                    origins[found.summary_id] = found
                    missing = (missing | set(found.folds)) - origins.keys()
    return Lineage(summaries=PersistentList(sorted(origins.values(), key=lambda origin: origin.version)))


async def read_descent(
    store: Store,
    stream: Stream,
    versions: Sequence[int],
    about: Sequence[RecordedEvent],
    opening_at: Callable[[int], Awaitable[Entry | None]],
    *,
    until: int,
) -> Lineage:
    """Return the summaries and contexts up to version *until* that the entry with these *versions* may have reached.

    *about* are the events about the entry. The opening message as of a version is read for each summary whose prompt
    may have named the entry as the task, which only what a user said can be.
    """
    is_users = any(isinstance(each.payload, EntryAdded | EntryEdited) and each.payload.role == "user" for each in about)
    events = await read_types(
        store,
        stream,
        CompactionRequested,
        CompactionCompleted,
        ContextSet,
        ContextRendered,
        RebuildCompleted,
        EntriesReturned,
        SessionCleared,
        after=min(versions),
        until=until,
    )
    left = {version: _left(version, [*about, *events], until) for version in versions}
    asked = {
        payload.compaction_id: event.version
        for event in events
        if isinstance(payload := event.payload, CompactionRequested) and is_users and names_task(payload.strategy)
    }
    named = dict(
        pair for event in events if isinstance(event.payload, RebuildCompleted) for pair in event.payload.tasks
    )
    tasks: dict[int, int] = {}
    for event in events:
        if isinstance(payload := event.payload, CompactionCompleted) and payload.method != "heuristic":
            if payload.compaction_id in named:
                tasks[event.version] = named[payload.compaction_id]
                continue
            at = asked.get(payload.compaction_id, 0)
            covers = any(ranges.contains(payload.covered, version) for version in versions)
            if not covers and any(version < at < left[version] for version in versions):
                opening = await opening_at(at)
                tasks[event.version] = opening.version if opening else 0
    lineage = LINEAGE.fold(events)
    origins = (replace(origin, task=tasks.get(origin.version, 0)) for origin in lineage.summaries)
    return Lineage(PersistentList(origins), lineage.contexts)


def _left(version: int, events: Iterable[RecordedEvent], until: int) -> int:
    """Return the version at which the entry of *version* last left the window, above *until* if it is in it still."""
    left = until + 1
    for event in sorted(events, key=lambda event: event.version):
        match event.payload:
            case EntryRemoved(entry_version=removed) if removed == version:
                return event.version
            case CompactionCompleted(effect="replace" | "erase", covered=covered) if ranges.contains(covered, version):
                left = min(left, event.version)
            case EntriesReturned() as payload if ranges.contains(payload.versions, version):
                left = until + 1
            case SessionCleared() if event.version > version:
                return min(left, event.version)
            case _:
                pass
    return left
