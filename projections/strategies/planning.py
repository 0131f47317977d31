"""The plan of most compactions: which entries leave the window, and which summaries are folded. Source: R-CMP-1."""

from collections.abc import Sequence

from ledger.events import Action
from projections.entries import Entry
from projections.strategies.base import CompactionConfig, CompactionPlan, StateView, Trigger
from projections.summaries import Summary
from projections.tool_pairs import Unit, may_go_on
from projections.values.ranges import ranges_of


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
    """Return the plan that *entries*, oldest first, leave the window; *reasons* are those of an automatic trigger."""
    return CompactionPlan(
        key=config.key,
        strategy=config.type,
        config=config.model_dump(mode="json"),
        action=action,
        effect="erase" if action == "erase" else "replace",
        covered=ranges_of(entry.version for entry in entries),
        tokens=tokens_of(entries, folds),
        seen_version=state.window.entries.last_version or 0,
        automatic=trigger.automatic,
        reasons=reasons if trigger.automatic else ("manual",),
        folds=tuple(summary.summary_id for summary in folds),
        target_tokens=target_tokens,
    )


def entries_before(cut: int, units: Sequence[Unit]) -> list[Entry]:
    """Return the entries of *units* before version *cut* that may leave, oldest first.

    Where *cut* would split a unit, it moves to the start of the unit (R-GEN-10). Pinned entries, units with an open
    call and the newest one if it may go on stay (R-GEN-7 … R-GEN-9).
    """
    for unit in sorted(units, key=lambda unit: unit.last_version, reverse=True):
        if unit.first_version < cut <= unit.last_version:
            cut = unit.first_version
    leaving = [unit for unit in complete(units) if unit.last_version < cut]
    entries = (entry for unit in leaving for entry in unit.entries if not entry.pinned)
    return sorted(entries, key=lambda entry: entry.version)


def complete(units: Sequence[Unit]) -> list[Unit]:
    """Return *units* without those that have an open call, and without the newest if its answer may go on."""
    newest = max((unit.last_version for unit in units), default=0)
    return [unit for unit in units if not unit.open and not (unit.last_version == newest and may_go_on(unit))]


def tokens_of(entries: Sequence[Entry], folds: Sequence[Summary]) -> int:
    """Return the tokens of the sources of a compaction."""
    return sum(entry.tokens for entry in entries) + sum(summary.tokens for summary in folds)
