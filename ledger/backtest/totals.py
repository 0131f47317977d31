"""The table of a backtest: the totals of each config over all sessions. Pure."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from ledger.backtest.measures import Measured


class CurvePoint(msgspec.Struct, frozen=True):
    """The average tokens shown when a question is asked, and the share of the evidence among them."""

    budget: int | None
    tokens: int
    kept: Decimal


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One config over all sessions; shares are of all pieces of evidence, None without questions."""

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
    questions: int
    evidence: int
    unplaced: int
    in_window: Decimal | None = None
    in_summaries: Decimal | None = None
    search_at_5: Decimal | None = None
    search_at_10: Decimal | None = None
    curve: tuple[CurvePoint, ...] = ()


def row(config: str, measured: Sequence[Measured]) -> Row:
    """Return the row of *config*; *measured* are its sessions."""
    shown = sorted(tokens for item in measured for tokens in item.shown)
    asked = [item.asked for item in measured]
    evidence = sum(item.evidence for item in asked)
    questions = sum(item.questions for item in asked)
    costs = [item.spent.cost_usd for item in measured]

    def share(name: str) -> Decimal | None:
        return _share(sum(getattr(item, name) for item in asked), evidence) if evidence else None

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
        questions=questions,
        evidence=evidence,
        unplaced=sum(item.unplaced for item in asked),
        in_window=share("in_window"),
        in_summaries=share("in_summaries"),
        search_at_5=share("found_at_5"),
        search_at_10=share("found_at_10"),
        curve=_curve(measured, questions, evidence) if evidence else (),
    )


def at_rank(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest number that *percent* of *ordered* do not exceed (nearest rank); 0 if empty."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def _curve(measured: Sequence[Measured], questions: int, evidence: int) -> tuple[CurvePoint, ...]:
    """Return a point for each budget; one point for a config without budgets."""
    budgets: dict[int, tuple[int, int]] = {}
    for item in measured:
        for budget, tokens, in_window in item.asked.by_budget:
            before = budgets.get(budget, (0, 0))
            budgets[budget] = before[0] + tokens, before[1] + in_window
    if not budgets:
        tokens = sum(item.asked.tokens for item in measured)
        in_window = sum(item.asked.in_window for item in measured)
        return (CurvePoint(None, tokens // questions, _share(in_window, evidence)),)
    return tuple(
        CurvePoint(budget, tokens // questions, _share(in_window, evidence))
        for budget, (tokens, in_window) in sorted(budgets.items())
    )


def _share(part: int, whole: int) -> Decimal:
    return (Decimal(part) / Decimal(whole)).quantize(Decimal("0.0001"))
