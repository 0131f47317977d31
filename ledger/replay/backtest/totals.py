"""The table of a backtest: totals of each config over all sessions, by category, and in sentences. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from ledger.replay.backtest.asking import Asked
from ledger.replay.backtest.measures import Measured
from projections.memory_config.config import MemoryConfig


class CurvePoint(msgspec.Struct, frozen=True):
    """The average tokens shown when a question is asked, and the share of the evidence among them."""

    budget: int | None
    tokens: int
    kept: Decimal


class EvidenceInWindow(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the evidence is shown or found; shares are None without evidence.

    *precision* is the share of evidence among the entries recalled for questions that have evidence, None if nothing
    was recalled. *wasted_tokens* are those of recalled entries that are no evidence, for a question on average.
    """

    questions: int
    evidence: int
    unplaced: int
    in_window: Decimal | None = None
    in_summaries: Decimal | None = None
    search_at_5: Decimal | None = None
    search_at_10: Decimal | None = None
    precision: Decimal | None = None
    wasted_tokens: int | None = None


class CategoryRow(EvidenceInWindow, frozen=True, kw_only=True):
    """One category of questions; None for questions without one."""

    category: str | None


class Row(EvidenceInWindow, frozen=True, kw_only=True):
    """One config over all sessions."""

    config: str
    sessions: int
    turns: int
    median_shown: int
    p95_shown: int
    max_shown: int
    total_shown: int
    compactions: int
    failed: int
    model_calls: int
    summary_tokens: int
    cost_usd: Decimal | None
    split_pairs: int
    categories: tuple[CategoryRow, ...] = ()
    curve: tuple[CurvePoint, ...] = ()


def row(config: str, measured: Sequence[Measured]) -> Row:
    """Return the row of *config*; *measured* are its sessions."""
    shown = sorted(tokens for item in measured for tokens in item.shown)
    asked = [part for item in measured for part in item.asked]
    costs = [item.spent.cost_usd for item in measured]
    categories = dict.fromkeys(part.category for part in asked)
    return Row(
        config=config,
        sessions=len(measured),
        turns=len(shown),
        median_shown=at_rank(shown, 50),
        p95_shown=at_rank(shown, 95),
        max_shown=shown[-1] if shown else 0,
        total_shown=sum(shown),
        compactions=sum(item.spent.compactions for item in measured),
        failed=sum(item.failed for item in measured),
        model_calls=sum(item.spent.model_calls for item in measured),
        summary_tokens=sum(item.spent.input_tokens + item.spent.output_tokens for item in measured),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        split_pairs=sum(item.split_pairs for item in measured),
        categories=tuple(
            CategoryRow(category=category, **_evidence_in_window([part for part in asked if part.category == category]))
            for category in categories
        ),
        curve=_curve(asked),
        **_evidence_in_window(asked),
    )


def _evidence_in_window(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the fields of `EvidenceInWindow`."""

    def total(name: str) -> int:
        return sum(getattr(part, name) for part in asked)

    def share(part: str, whole: str) -> Decimal | None:
        return _share(total(part), total(whole)) if total(whole) else None

    recalls = total("recalled") + total("wasted_tokens") > 0
    return {
        "questions": total("questions"),
        "evidence": total("evidence"),
        "unplaced": total("unplaced"),
        "in_window": share("in_window", "evidence"),
        "in_summaries": share("in_summaries", "evidence"),
        "search_at_5": share("found_at_5", "evidence"),
        "search_at_10": share("found_at_10", "evidence"),
        "precision": share("recalled_evidence", "recalled"),
        "wasted_tokens": total("wasted_tokens") // total("questions") if recalls else None,
    }


def at_rank(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest number that *percent* of *ordered* do not exceed (nearest rank); 0 if empty."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def _curve(asked: Sequence[Asked]) -> tuple[CurvePoint, ...]:
    """Return a point for each budget; one point for a config without budgets; none without evidence."""
    questions = sum(part.questions for part in asked)
    evidence = sum(part.evidence for part in asked)
    if not evidence:
        return ()
    budgets: dict[int | None, tuple[int, int]] = {}
    for part in asked:
        for budget, tokens, in_window in part.by_budget or ((None, part.tokens, part.in_window),):
            before = budgets.get(budget, (0, 0))
            budgets[budget] = before[0] + tokens, before[1] + in_window
    return tuple(
        CurvePoint(budget, tokens // questions, _share(in_window, evidence))
        for budget, (tokens, in_window) in sorted(budgets.items(), key=lambda point: point[0] or 0)
    )


def _share(part: int, whole: int) -> Decimal:
    return (Decimal(part) / Decimal(whole)).quantize(Decimal("0.0001"))


def findings(rows: Sequence[Row], configs: Mapping[str, MemoryConfig]) -> tuple[str, ...]:
    """Return which config shows the fewest tokens, which keeps most evidence for few, and which never compact."""
    found = []
    most = max(rows, key=lambda row: row.total_shown)
    least = min(rows, key=lambda row: row.total_shown)
    if least.total_shown < most.total_shown:
        share = least.total_shown / most.total_shown
        found.append(f"{least.config} shows the fewest tokens: {share:.0%} of what {most.config} shows.")
    thrifty = [row for row in rows if row.in_window is not None and 2 * row.total_shown <= most.total_shown > 0]
    if thrifty:
        best = max(thrifty, key=lambda row: (row.in_window or 0, -row.total_shown))
        found.append(
            f"Of the configs that show at most half of what {most.config} shows, {best.config} keeps the most "
            f"evidence in the window: {best.in_window:.1%}."
        )
    idle = [row.config for row in rows if configs[row.config].compactions and not row.compactions]
    if idle:
        found.append(f"Never compacted anything in these sessions: {', '.join(idle)}.")
    return tuple(found)
