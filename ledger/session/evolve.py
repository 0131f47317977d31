"""The fold of a session: its state after one more event. Each fact is folded in one place (style §2)."""

import sys
from typing import Any

import msgspec
from msgspec.structs import replace

from ledger.errors import InvalidInput, UnknownEvent
from ledger.events import (
    CompactionCompleted,
    CompactionContinued,
    ConfigChanged,
    ContextRendered,
    Continuation,
    CountedItems,
    EntryAdded,
    EntryRemoved,
    Event,
    KeptRemoved,
    KeptSet,
    OpaqueEvent,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
    StrategyProgress,
)
from ledger.session.state import SessionState
from projections import compactions, items, rebuilds, stats, summaries, window, working_memory
from projections.compactions import Compactions
from projections.items import Items
from projections.memory_config import config
from projections.memory_config.config import MemoryConfig
from projections.projection import Projection
from projections.strategies import COMPACTIONS
from projections.strategies.base import CompactionConfig
from projections.summaries import CONTEXT_KEY, LiveSummaries
from projections.values import ranges
from projections.window import ActiveEntries
from projections.working_memory import EntryFlags, WorkingMemory


def evolve(state: SessionState, event: RecordedEvent) -> SessionState:
    """Return the state after *event*, the next of its stream.

    Raises:
        UnknownEvent: a newer release wrote it; a fold without it would be wrong.
        UnknownConfig: it has a memory config that this release cannot read.
    """
    payload = event.payload
    if isinstance(payload, OpaqueEvent):
        raise UnknownEvent(payload.type, payload.schema_version, version=event.version)
    if payload.write_id != state.write_id:
        state = replace(end_of_batch(state), writes=state.writes + 1)
    if isinstance(payload, SessionOpened):
        if payload.forked_from is not None:
            return _forked(state, event, payload)
        return SessionState(
            event.version,
            payload.write_id,
            opened=True,
            cleared_version=event.version,
            life=event.version,
            began=event.version,
            created_us=event.recorded_us,
            updated_us=event.recorded_us,
            config=config.recorded(payload.config, version=event.version),
            writes=state.writes,
        )
    if isinstance(payload, ContextRendered):  # reading is not a change
        return replace(state, version=event.version, write_id=payload.write_id)
    if isinstance(payload, KeptSet | KeptRemoved):  # the store finds them by an index; no state holds them
        working = working_memory.evolve(state.working, event)
        return replace(
            state, version=event.version, write_id=payload.write_id, updated_us=event.recorded_us, working=working
        )
    entries = window.evolve(state.window, event, state.items.waiting)
    cleared = isinstance(payload, SessionCleared)
    return SessionState(
        event.version,
        payload.write_id,
        state.opened and not (isinstance(payload, SessionCleared) and payload.ended),
        event.version if cleared else state.cleared_version,
        state.life,
        state.began,
        state.created_us,
        event.recorded_us,
        config.recorded(payload.config, version=event.version)
        if isinstance(payload, ConfigChanged | RebuildCompleted)
        else state.config,
        entries,
        _summaries(state, event),
        _compactions(state, event),
        _items(state, payload, entries),
        _counts(state, event),
        _progress(state, payload),
        _working(state.working, event, entries),
        state.writes,
        rebuilds.evolve(state.rebuild, event) if type(payload) is not EntryAdded else state.rebuild,
    )


def _forked(state: SessionState, event: RecordedEvent, payload: SessionOpened) -> SessionState:
    """Return the state of the parent as the fork's own; compactions that run in the parent are not taken over."""
    return replace(
        state,
        version=event.version,
        write_id=payload.write_id,
        opened=True,
        life=event.version,
        created_us=event.recorded_us,
        updated_us=event.recorded_us,
        config=config.recorded(payload.config, version=event.version),
        summaries=_summaries(state, event),
        compactions=replace(_compactions(state, event), in_flight=()),
        progress=_progress(state, payload),
        working=_working(state.working, event, state.window),
        rebuild=None,
    )


def end_of_batch(state: SessionState) -> SessionState:
    """Return *state* as it is between batches: items counted, blocks due, old summaries evicted.

    Readers and planners use this; `evolve` applies it when the first event of another batch comes.
    """
    numbered = items.end_batch(state.items)
    live, progress = state.summaries, dict[str, Any]()
    for key, folded in state.progress:
        progress.setdefault(key, folded)  # an event of another's file may name a strategy twice: the first counts
    for compaction in state.config.compactions:
        fold = COMPACTIONS[compaction.type].progress
        if fold is not None:
            folded = fold.advance(compaction, progress.pop(compaction.key, None), numbered, state.window)
            progress[compaction.key] = folded
            if live.live:
                live = live.evict(compaction.key, before=fold.evicts_before(compaction, folded))
    if live.live:
        live = _with_room(live, state.config)
    after = tuple(progress.items())
    if numbered is state.items and live is state.summaries and after == state.progress:
        return state
    return replace(state, items=numbered, summaries=live, progress=after)


def _with_room(live: LiveSummaries, now: MemoryConfig) -> LiveSummaries:
    """Return *live* without the oldest summaries of strategies that are gone that have no room beside those of blocks.

    What a caller wrote stays. Source: R-CFG-9.
    """
    folds = {compaction.key: COMPACTIONS[compaction.type].progress for compaction in now.compactions}
    foreign = [
        each
        for each in live.live
        if each.key != CONTEXT_KEY and (each.key not in folds or (folds[each.key] is not None and each.block is None))
    ]
    rooms = [
        fold.most_summaries(compaction) - sum(each.key == compaction.key for each in live.live if each.block)
        for compaction in now.compactions
        if (fold := folds[compaction.key]) is not None
    ]
    return live.without_oldest(len(foreign) - max(0, *rooms), foreign) if foreign and rooms else live


#: The state as a projection: snapshots have this name and version.
SESSION: Projection[SessionState] = Projection("session", 8, SessionState(), evolve)


def _summaries(state: SessionState, event: RecordedEvent) -> LiveSummaries:
    live = summaries.evolve(state.summaries, event)
    if isinstance(event.payload, ConfigChanged | SessionOpened):
        new = config.load(event.payload.config)
        for key in {summary.key for summary in live.live if summary.block is not None}:
            if not _goes_on(state.config, new, key):
                live = live.evict(key, before=sys.maxsize)
    return live


def _compactions(state: SessionState, event: RecordedEvent) -> Compactions:
    evolved = compactions.evolve(state.compactions, event)
    if isinstance(event.payload, ConfigChanged | SessionOpened):
        new = config.load(event.payload.config)
        evolved = evolved.introduced(
            (strategy.key for strategy in new.compactions if state.config.compaction(strategy.key) is None),
            event.version,
        )
    return evolved


def _counts(state: SessionState, event: RecordedEvent) -> stats.Counts:
    counts = stats.evolve(state.counts, event)
    if not isinstance(event.payload, EntryRemoved) or state.window.at(event.payload.entry_version) is not None:
        return counts
    # a compaction had taken it out of the window: it is counted once
    version = event.payload.entry_version
    is_erased = counts.erased and not any(ranges.contains(each.covered, version) for each in state.summaries.live)
    return replace(counts, erased=counts.erased - 1) if is_erased else replace(counts, covered=counts.covered - 1)


def _items(state: SessionState, payload: Event, entries: ActiveEntries) -> Items:
    match payload:
        case EntryAdded():
            return items.add_entry(state.items, entries.entries.last, entries)
        case CompactionCompleted(effect="replace" | "erase", covered=covered):
            return items.forget(state.items, removed=covered, before=_oldest_needed(state, entries))
        case EntryRemoved(entry_version=version):
            removed_range = ((version, version),)
            return items.forget(state.items, removed=removed_range, before=_oldest_needed(state, entries))
        case CompactionContinued(continuation=Continuation(items=CountedItems() as counted)):
            return items.continued(counted, state.window)
        case SessionCleared():
            return Items()
        case _:
            return state.items


def _working(state: WorkingMemory, event: RecordedEvent, entries: ActiveEntries) -> WorkingMemory:
    evolved = working_memory.evolve(state, event)
    if isinstance(event.payload, CompactionCompleted) and evolved.flags != EntryFlags():
        return replace(evolved, flags=evolved.flags.since(entries.entries.first_version or event.version))
    return evolved


def _oldest_needed(state: SessionState, entries: ActiveEntries) -> int:
    """Return the version before which no item is needed: no older entry is active or will be in a block."""
    oldest = entries.entries.first_version or state.version + 1
    for strategy in state.config.compactions:
        fold = COMPACTIONS[strategy.type].progress
        if fold is not None:
            oldest = min(oldest, fold.needs_from(strategy, state.progress_of(strategy.key), state.items))
    return oldest


class ReadProgress(msgspec.Struct, frozen=True):
    """What a strategy of this installation had folded, and under which config."""

    config: CompactionConfig
    folded: Any


def progress_from(progress: StrategyProgress) -> ReadProgress | None:
    """Return what *progress* says; None if its strategy is not installed, or reads it no more."""
    try:
        compaction = config.load({"window": {"type": "full"}, "compactions": [progress.config]}).compactions[0]
        fold = COMPACTIONS[compaction.type].progress
        return ReadProgress(compaction, msgspec.convert(progress.folded, fold.state)) if fold else None
    except (InvalidInput, msgspec.ValidationError):
        return None


def _continued(state: SessionState, continuation: Continuation) -> tuple[tuple[str, Any], ...]:
    """Return the progress of those strategies that go on under the config of *state*."""
    read = [found for progress in continuation.progress if (found := progress_from(progress)) is not None]
    before = state.config.model_copy(update={"compactions": tuple(found.config for found in read)})
    return tuple((found.config.key, found.folded) for found in read if _goes_on(before, state.config, found.config.key))


def _progress(state: SessionState, payload: Event) -> tuple[tuple[str, Any], ...]:
    match payload:
        case CompactionContinued(continuation=continuation):
            return _continued(state, continuation)
        case SessionCleared() | RebuildCompleted():
            return ()
        case CompactionCompleted(key=key) if (strategy := state.config.compaction(key)) is not None:
            fold = COMPACTIONS[strategy.type].progress
            if fold is None:
                return state.progress
            return tuple(
                (own, fold.complete(folded, payload) if own == key else folded) for own, folded in state.progress
            )
        case ConfigChanged(config=raw) | SessionOpened(config=raw):
            new = config.load(raw)
            return tuple((key, folded) for key, folded in state.progress if _goes_on(state.config, new, key))
        case _:
            return state.progress


def _goes_on(old: MemoryConfig, new: MemoryConfig, key: str) -> bool:
    """Tell whether the strategy with *key* can continue with what it folded under the old config."""
    before, after = old.compaction(key), new.compaction(key)
    if before is None or after is None or before.type != after.type:
        return False
    fold = COMPACTIONS[after.type].progress
    return fold is not None and fold.goes_on(before, after)
