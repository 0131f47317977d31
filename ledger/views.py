"""Questions to a state: what the model is shown, the numbers, and what would be compacted next."""

from ledger.errors import CompactionInProgress, InvalidInput
from ledger.events import to_datetime
from ledger.state import SessionState, at_rest
from projections.stats import SessionStats
from projections.strategies import COMPACTIONS, WINDOWS
from projections.strategies.base import CompactionConfig, CompactionPlan, Trigger
from projections.strategies.token_threshold import TokenThreshold, over
from projections.window import Window


def window_of(state: SessionState) -> Window:
    """Return what the model is shown, under the session's window strategy. Source: R-WIN-1."""
    strategy = WINDOWS[state.config.window.type]
    return strategy.window(state.config.window, at_rest(state))


def stats_of(state: SessionState) -> SessionStats:
    """Return the statistics; all zero for an unknown or cleared session. Source: R-000-2, R-000-14, R-000-16."""
    state = at_rest(state)
    limits = (one for one in state.config.compactions if isinstance(one, TokenThreshold))
    return SessionStats(
        total_entries=state.counts.added,
        active_entries=len(state.window.entries),
        compressed_entries=state.counts.covered + state.counts.erased,
        removed_entries=state.counts.removed,
        summaries=len(state.summaries.live),
        total_tokens=state.window.tokens + state.summaries.tokens,
        active_tokens=state.window.tokens,
        over_budget=any(over(one, state) for one in limits),
        compactions=state.counts.compactions,
        compactions_in_flight=len(state.compactions.in_flight),
        model_calls=state.counts.model_calls,
        model_tokens=state.counts.model_tokens,
        version=state.version,
        created_at=to_datetime(state.created_us) if state.version else None,
        updated_at=to_datetime(state.updated_us) if state.version else None,
    )


def plan_automatic(state: SessionState, compaction: CompactionConfig) -> CompactionPlan | None:
    """Return what *compaction* would do on its own now. Source: R-CMP-7, R-CMP-8, R-CMP-9."""
    state = at_rest(state)
    if state.compactions.running(compaction.key) or state.compactions.backs_off(compaction.key):
        return None
    plan = COMPACTIONS[compaction.type].plan(compaction, state, Trigger())
    if plan is not None and plan.effect != "overlay" and state.compactions.reserved(plan.covered):
        return None
    return plan


def plan_manual(state: SessionState, key: str | None, *, force: bool) -> CompactionPlan:
    """Return what a caller asks for: the compaction with *key*, or the first of the config. Source: R-000-5.

    Raises:
        InvalidInput: the config has no such compaction.
        CompactionInProgress: it is under way.
        NotEnoughEntries: too few entries may be covered.
    """
    state = at_rest(state)
    if key is None:
        compaction = next(iter(state.config.compactions), None)
    else:
        compaction = state.config.compaction(key)
    if compaction is None:
        named = f"no compaction {key!r}" if key else "no compaction"
        raise InvalidInput("no_compaction", f"the memory config has {named}; add one with update_config", field="key")
    if state.compactions.running(compaction.key):
        raise CompactionInProgress(compaction.key)
    plan = COMPACTIONS[compaction.type].plan(compaction, state, Trigger(automatic=False, force=force))
    assert plan is not None, "asked manually, a strategy plans or raises"
    if plan.effect != "overlay" and state.compactions.reserved(plan.covered):
        raise CompactionInProgress(compaction.key)
    return plan
