"""Lineage: the entries a summary stands for, and the summaries and contexts an entry reached. A fold, two queries.

An entry reaches a summary that covers it, or whose prompt named it as the task of the session; it also reaches the
summaries that fold such a summary, and the recorded contexts that show any of them. All of this follows from recorded
versions and ids, never from comparing texts: a poisoned entry is found even where its words are not repeated.

Source: trust M-5, P-17.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ledger.errors import UnknownEvent
from ledger.events import (
    AccessEvent,
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ConfigChanged,
    ContextRendered,
    ContextSet,
    DataChanged,
    EntriesExtracted,
    EntriesIndexed,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    ExpirySet,
    KeptRemoved,
    KeptSet,
    MemoryAdded,
    MemoryEdited,
    MemoryPromoted,
    MemoryRemoved,
    OpaqueEvent,
    Ranges,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
    RecordedEvent,
    RecordEvent,
    SessionCleared,
    SessionOpened,
    SessionRestored,
    SummaryViewEvent,
)
from projections import window
from projections.projection import Projection
from projections.strategies import COMPACTIONS
from projections.values import ranges
from projections.values.persistent_list import PersistentList
from projections.window import ActiveEntries

#: How an entry reached it: its range covers the entry, its prompt named it, it folds a summary, or it shows the entry.
How: TypeAlias = Literal["covers", "task", "folds", "shows"]


class SummaryOrigin(msgspec.Struct, frozen=True):
    """A summary and its sources; *task* is the version of the entry that its prompt named as the task, or 0."""

    version: int
    summary_id: str
    covered: Ranges
    folds: tuple[str, ...] = ()
    task: int = 0


class Lineage(msgspec.Struct, frozen=True):
    """All summaries ever created and all recorded contexts, oldest first."""

    summaries: PersistentList[SummaryOrigin] = PersistentList()
    contexts: PersistentList[tuple[int, ContextRendered]] = PersistentList()
    #: The active entries, for the task of the next request, and the tasks of running requests.
    window: ActiveEntries = ActiveEntries()
    tasks: tuple[tuple[str, int], ...] = ()


#: Events from which neither a summary nor a context is derived.
NothingDerived: TypeAlias = (
    SessionOpened
    | SessionRestored
    | ConfigChanged
    | ExpirySet
    | DataChanged
    | ContextSet
    | CompactionContinued
    | RebuildRequested
    | RebuildAnswered
    | RebuildFailed
    | EntriesExtracted
    | EntriesIndexed
    | MemoryAdded
    | MemoryEdited
    | MemoryRemoved
    | MemoryPromoted
    | KeptSet
    | KeptRemoved
    | RecordEvent
    | AccessEvent
    | SummaryViewEvent
)


class Origin(msgspec.Struct, frozen=True):
    """The versions of the entries a summary stands for, and all summaries it folds, directly or not, nearest first."""

    covered: Ranges
    via: tuple[str, ...] = ()


class Reached(msgspec.Struct, frozen=True):
    """A summary, or a context (its *summary_id* is empty), that an entry reached.

    *version* is the version of its event, *via* the summaries between it and the entry, nearest to it first.
    """

    version: int
    how: How
    summary_id: str = ""
    via: tuple[str, ...] = ()


class Reach(msgspec.Struct, frozen=True):
    """What an entry reached, oldest first."""

    summaries: tuple[Reached, ...] = ()
    contexts: tuple[Reached, ...] = ()


def evolve(state: Lineage, event: RecordedEvent) -> Lineage:
    """Return the lineage after *event*; a new event type must be handled here.

    Raises:
        UnknownEvent: a newer release wrote it, so this release does not know what is derived from it.
    """
    match event.payload:
        case EntryAdded() | EntryEdited() | EntryRemoved() | EntriesReturned() | SessionCleared():
            return replace(state, window=window.evolve(state.window, event))
        case RebuildCompleted(tasks=tasks):
            return replace(state, tasks=(*state.tasks, *tasks))
        case CompactionRequested() as payload:
            is_named = any(name == payload.compaction_id for name, _ in state.tasks)
            task = state.window.opening if names_task(payload.strategy) and not is_named else None
            return replace(state, tasks=(*state.tasks, (payload.compaction_id, task.version))) if task else state
        case CompactionCompleted() as payload:
            task_version = 0 if payload.method == "heuristic" else dict(state.tasks).get(payload.compaction_id, 0)
            settled = _settled(state, payload.compaction_id)
            if payload.summary_id is not None:
                summary = SummaryOrigin(event.version, payload.summary_id, payload.covered, payload.folds, task_version)
                settled = replace(settled, summaries=settled.summaries.append(summary))
            return replace(settled, window=window.evolve(state.window, event))
        case CompactionFailed() | CompactionDiscarded() as payload:
            return _settled(state, payload.compaction_id)
        case ContextRendered() as payload:
            return replace(state, contexts=state.contexts.append((event.version, payload)))
        case ContextSet(summary_id=str(summary_id), folds=folds):
            # the caller may have written it from the summaries that it replaces
            return replace(
                state, summaries=state.summaries.append(SummaryOrigin(event.version, summary_id, (), folds, 0))
            )
        case OpaqueEvent(type=name, schema_version=schema_version):
            raise UnknownEvent(name, schema_version, version=event.version)
        case payload:
            _check_derives_nothing(payload)
            return state


def _check_derives_nothing(payload: NothingDerived) -> None:
    """Accept only events that derive nothing; the type checker does the check."""


def origin(lineage: Lineage, summary_id: str) -> Origin:
    """Return what the summary stands for, through all summaries it folds; empty if the summary does not exist."""
    by_id = {summary.summary_id: summary for summary in lineage.summaries}
    covered: list[Ranges] = []
    via: list[str] = []
    waiting = [summary_id]
    for name in waiting:  # grows during the loop; each name is added once, so cycles end
        if name in by_id:
            covered.append(by_id[name].covered)
            fresh = [fold for fold in by_id[name].folds if fold not in waiting]
            waiting.extend(fresh)
            via.extend(fresh)
    return Origin(ranges.union(covered), tuple(via))


def reach(lineage: Lineage, versions: Iterable[int]) -> Reach:
    """Return every summary and every recorded context that the entry with these *versions* reached."""
    wanted = set(versions)
    found: dict[str, Reached] = {}
    for summary in lineage.summaries:
        through = next((fold for fold in summary.folds if fold in found), None)
        if any(ranges.contains(summary.covered, version) for version in wanted):
            found[summary.summary_id] = Reached(summary.version, "covers", summary.summary_id)
        elif through is not None:
            via = (through, *found[through].via)
            found[summary.summary_id] = Reached(summary.version, "folds", summary.summary_id, via)
        elif summary.task in wanted:
            found[summary.summary_id] = Reached(summary.version, "task", summary.summary_id)
    contexts = []
    for version, rendered in lineage.contexts:
        runs = [item for item in rendered.items if not isinstance(item, str)]
        through = next((item for item in rendered.items if isinstance(item, str) and item in found), None)
        if any(first <= each <= last for first, last in runs for each in wanted):
            contexts.append(Reached(version, "shows"))
        elif through is not None:
            contexts.append(Reached(version, "folds", via=(through, *found[through].via)))
    return Reach(tuple(found.values()), tuple(contexts))


def names_task(strategy: str) -> bool:
    """Tell whether the prompts of *strategy* name the task; of one that is not installed here, assume it."""
    known = COMPACTIONS.get(strategy)
    return known is None or known.sees_opening


def _settled(state: Lineage, compaction_id: str) -> Lineage:
    left = tuple(task for task in state.tasks if task[0] != compaction_id)
    return state if len(left) == len(state.tasks) else replace(state, tasks=left)


LINEAGE: Projection[Lineage] = Projection("lineage", 2, Lineage(), evolve)
