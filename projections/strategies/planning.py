"""How most compactions are planned: these entries leave the window, and these summaries are folded. Source: R-CMP-1."""

from collections.abc import Sequence

from ledger.events import Action
from projections.entries import Entry
from projections.ranges import ranges_of
from projections.strategies.base import CompactionConfig, CompactionPlan, StateView, Trigger
from projections.summaries import Summary


def plan_to_replace(
    config: CompactionConfig,
    state: StateView,
    trigger: Trigger,
    entries: Sequence[Entry],
    *,
    reasons: tuple[str, ...],
    folds: Sequence[Summary] = (),
    target_tokens: int | None = None,
    action: Action = "summarize",
) -> CompactionPlan:
    """Return the plan to let *entries*, oldest first, leave the window, for the *reasons* that hold by themselves."""
    return CompactionPlan(
        key=config.key,
        strategy=config.type,
        config=config.model_dump(mode="json"),
        action=action,
        effect="erase" if action == "erase" else "replace",
        covered=ranges_of(entry.version for entry in entries),
        tokens=tokens_of(entries, folds),
        seen_version=state.window.entries[-1].version,
        automatic=trigger.automatic,
        reasons=reasons if trigger.automatic else ("manual",),
        folds=tuple(summary.summary_id for summary in folds),
        target_tokens=target_tokens,
    )


def tokens_of(entries: Sequence[Entry], folds: Sequence[Summary]) -> int:
    """Return the tokens of what a compaction takes in."""
    return sum(entry.tokens for entry in entries) + sum(summary.tokens for summary in folds)
