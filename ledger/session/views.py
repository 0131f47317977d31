"""Views of a state: what the model is shown, the statistics, and what would be compacted next."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from ledger.errors import CompactionInProgress, InvalidInput
from ledger.events import EntryAdded, RecordedEvent, to_datetime
from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.stats import MemoryMetrics, SessionStats
from projections.strategies import COMPACTIONS, WINDOWS
from projections.strategies.base import NO_HINTS, CompactionConfig, CompactionPlan, Hints, Trigger
from projections.strategies.interactions import newest_first
from projections.strategies.preserving import KINDS, TriggerLimit, is_preserved
from projections.strategies.token_threshold import TokenThreshold, over
from projections.tool_pairs import group_units
from projections.window import Window, runs_beside_recalled


def window_of(state: SessionState, hints: Hints = NO_HINTS) -> Window:
    """Return what the model is shown under the session's window strategy. Source: R-WIN-1, R-KB-2."""
    strategy = WINDOWS[state.config.window.type]
    window = strategy.window(state.config.effective(state.config.window), end_of_batch(state), hints)
    return replace(
        window,
        knowledge=hints.knowledge,
        knowledge_tokens=hints.knowledge_tokens,
        gaps=_gaps(state, window, hints),
    )


def _gaps(state: SessionState, window: Window, hints: Hints) -> frozenset[int]:
    """Return the gaps of *window*, as far as state and hints show which entries are left out. Source: R-REC-4."""
    runs = runs_beside_recalled(window, state.cleared_version)
    if not runs:
        return frozenset()
    hit = (entry.version for recalled in hints.recalled for entry in recalled.interaction)
    known = sorted({*state.window.entries.versions, *hit})
    there = hints.there or ()
    return frozenset(
        last + 1
        for first, last in runs
        if bisect_left(known, first) < bisect_right(known, last)
        or any(version in there for version in range(first, last + 1))
    )


def answer_with_entry(state: SessionState, entry: Entry) -> tuple[Entry, ...]:
    """Return the active *entry* with all that is one unit with it, oldest first: the rest of its answer and results.

    It reads the entries from the newest back to it. Source: R-GEN-8.
    """
    if not (entry.answers or entry.kind == "tool_result"):
        return (entry,)
    for interaction in newest_first(end_of_batch(state)):
        if any(other.version == entry.version for other in interaction.entries):
            units = group_units(interaction.entries)
            return next(unit.entries for unit in units if any(other.version == entry.version for other in unit.entries))
    return (entry,)


def current_turn(state: SessionState) -> frozenset[int]:
    """Return the versions of the entries of the last interaction if it is not finished. Source: R-003-3.

    It may read more than the window shows, so only a budget asks for it.
    """
    newest = next(newest_first(state), None)
    return frozenset() if newest is None or newest.closed else frozenset(entry.version for entry in newest.entries)


def stats_of(state: SessionState) -> SessionStats:
    """Return the statistics; entries and tokens of a cleared session are zero. Source: R-000-2, R-000-14, R-000-16."""
    state = end_of_batch(state)
    failing = failing_of(state)
    return SessionStats(
        total_entries=state.counts.added,
        active_entries=len(state.window.entries),
        compressed_entries=state.counts.covered + state.counts.erased,
        removed_entries=state.counts.removed,
        erased_entries=state.counts.erased,
        window_not_known=state.counts.window_not_known,
        summaries=len(state.summaries.live),
        total_tokens=state.window.tokens + state.summaries.tokens,
        active_tokens=state.window.tokens,
        over_budget=_over_budget(state),
        near_limit=any(limit.is_near(state.window.tokens + state.summaries.tokens) for limit in _limits(state)),
        compactions=state.counts.compactions,
        compactions_in_flight=len(state.compactions.in_flight),
        failed_compactions=failing.times,
        last_failure=failing.last,
        failing_since=failing.since,
        failing_model=failing.model,
        model_calls=state.counts.model_calls,
        model_tokens=state.counts.model_tokens,
        memories=len(state.working.memories),
        promoted_memories=sum(memory.persisted_us > 0 for memory in state.working.memories),
        version=state.version,
        writes=state.writes,
        created_at=to_datetime(state.created_us) if state.version else None,
        updated_at=to_datetime(state.updated_us) if state.version else None,
        last_compaction_at=_last_compaction(state),
        expires_at=state.working.expires_at,
    )


class FailingCompactions(NamedTuple):
    """How often compactions failed since the last that succeeded, what the last one said, since when, and the model."""

    times: int
    last: str | None = None
    since: datetime | None = None
    model: str | None = None


def failing_of(state: SessionState) -> FailingCompactions:
    """Return which compactions of the session fail."""
    failures = state.compactions.failures
    if not failures:
        return FailingCompactions(0)
    return FailingCompactions(
        sum(failed.count for failed in failures),
        failures[-1].error or failures[-1].reason,
        to_datetime(min(failed.since_us for failed in failures)),
        failures[-1].model,
    )


def metrics_of(state: SessionState, kind: str | None = None) -> MemoryMetrics:
    """Return the numbers of entries and summaries; only those of *kind*, as ``preserve`` names it.

    Completed compactions are counted whatever the kind. Source: R-002-9.

    Raises:
        InvalidInput: the kind does not exist.
    """
    if kind is not None and kind not in KINDS:
        raise InvalidInput("bad_kind", f"must be one of {', '.join(sorted(KINDS))}", field="kind")
    state = end_of_batch(state)
    if kind is None:
        count = len(state.summaries.live) + len(state.window.entries)
        tokens = state.summaries.tokens + state.window.tokens
    else:
        items = [item for item in (*state.summaries.live, *state.window.entries) if is_preserved(item, (kind,))]
        count, tokens = len(items), sum(item.tokens for item in items)
    return MemoryMetrics(
        message_count=count,
        estimated_tokens=tokens,
        compression_count=state.counts.compactions,
        last_compression_at=_last_compaction(state),
    )


def _over_budget(state: SessionState) -> bool:
    """Tell whether a limit of the config is exceeded, by what is shown without a search. Source: R-000-3, R-WIN-4."""
    limit = state.config.token_limit
    if limit is not None and state.shown_tokens() > limit:
        return True
    watched = [each for each in state.config.compactions if isinstance(each, TokenThreshold)]
    return any(over(state.config.effective(each), state) for each in watched)


def _last_compaction(state: SessionState) -> datetime | None:
    return to_datetime(state.counts.last_compaction_us) if state.counts.compactions else None


def _limits(state: SessionState) -> list[TriggerLimit]:
    """Return the limits that the config watches. Source: R-002-7."""
    return [state.config.effective(part) for _, part in state.config.parts if isinstance(part, TriggerLimit)]


def _effective(state: SessionState) -> list[CompactionConfig]:
    return [state.config.effective(each) for each in state.config.compactions]


def plan_automatic(state: SessionState, compaction: CompactionConfig) -> CompactionPlan | None:
    """Return what *compaction* would do now without being asked. Source: R-CMP-7, R-CMP-8, R-CMP-9."""
    state = end_of_batch(state)
    if state.compactions.running(compaction.key) or state.compactions.backs_off(compaction.key):
        return None
    plan = COMPACTIONS[compaction.type].plan(state.config.effective(compaction), state, Trigger())
    if plan is not None and plan.effect != "overlay" and state.compactions.reserved(plan.covered):
        return None
    return plan


def adding_may_wait(state: SessionState, events: Sequence[RecordedEvent]) -> bool:
    """Tell whether entries are added to *state* as to the state after *events*: events that change only the window."""
    return (
        state.working.ttl_seconds is None
        and not state.items.waiting
        and all(isinstance(event.payload, EntryAdded) and event.payload.kind != "tool_call" for event in events)
    )


def compaction_may_be_due(state: SessionState, queued: Sequence[RecordedEvent]) -> bool:
    """Tell whether a compaction could be due after the *queued* entries were added to *state*."""
    if not state.config.compactions:
        return False
    entries = len(state.window.entries) + len(queued)
    tokens = state.window.tokens + state.summaries.tokens
    tokens += sum([event.payload.tokens for event in queued if isinstance(event.payload, EntryAdded)])
    return not all(COMPACTIONS[each.type].is_quiet(each, entries, tokens) for each in _effective(state))


def plan_manual(state: SessionState, key: str | None, *, force: bool, keep_tokens: int | None = None) -> CompactionPlan:
    """Return the plan that a caller asks for: the compaction with *key*, or the first of the config. Source: R-000-5.

    *keep_tokens* is how many tokens of the newest entries stay; it replaces what the config says.

    Raises:
        InvalidInput: the config has no such compaction, or it does not keep by tokens.
        CompactionInProgress: it is running.
        NotEnoughEntries: too few entries may be covered.
    """
    state = end_of_batch(state)
    if key is None:
        compaction = next(iter(state.config.compactions), None)
    else:
        compaction = state.config.compaction(key)
    if compaction is None:
        missing = "no compaction with this key" if key else "no compaction"
        raise InvalidInput("no_compaction", f"the memory config has {missing}; add it to the config", field="key")
    if state.compactions.running(compaction.key):
        raise CompactionInProgress(compaction.key)
    strategy = COMPACTIONS[compaction.type]
    if keep_tokens is not None and not strategy.keeps_tokens:
        message = f"a {compaction.type} compaction does not keep by tokens; leave it out"
        raise InvalidInput("bad_value", message, field="keep_tokens")
    plan = strategy.plan(state.config.effective(compaction), state, Trigger(False, force, keep_tokens))
    assert plan is not None, "a strategy that is asked manually plans or raises"
    if plan.effect != "overlay" and state.compactions.reserved(plan.covered):
        raise CompactionInProgress(compaction.key)
    return plan
