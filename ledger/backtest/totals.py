"""The table of a backtest: what each config came to over all sessions. Pure."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from ledger.backtest.measures import Measured


class CurvePoint(msgspec.Struct, frozen=True):
    """Tokens shown when a question is asked, on average, and the share of the evidence among them."""

    budget: int | None
    tokens: int
    kept: Decimal


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One config over all sessions; shares are of all pieces of evidence, none without questions."""

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
    """Return the row of *config*, which all *measured* are of."""
    shown = sorted(tokens for measured in measured for tokens in measured.shown)
    asked = [measured.asked for measured in measured]
    evidence = sum(asked.evidence for asked in asked)
    questions = sum(asked.questions for asked in asked)
    costs = [measured.spent.cost_usd for measured in measured]

    def share(name: str) -> Decimal | None:
        return _share(sum(getattr(asked, name) for asked in asked), evidence) if evidence else None

    return Row(
        config=config,
        sessions=len(measured),
        turns=len(shown),
        median_shown=at_rank(shown, 50),
        p95_shown=at_rank(shown, 95),
        max_shown=shown[-1] if shown else 0,
        total_shown=sum(shown),
        compactions=sum(measured.spent.compactions for measured in measured),
        failed=sum(measured.failed for measured in measured),
        model_calls=sum(measured.spent.model_calls for measured in measured),
        summary_tokens=sum(measured.spent.input_tokens + measured.spent.output_tokens for measured in measured),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        split_pairs=sum(measured.split_pairs for measured in measured),
        questions=questions,
        evidence=evidence,
        unplaced=sum(asked.unplaced for asked in asked),
        in_window=share("in_window"),
        in_summaries=share("in_summaries"),
        search_at_5=share("found_at_5"),
        search_at_10=share("found_at_10"),
        curve=_curve(measured, questions, evidence) if evidence else (),
    )


def at_rank(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest number that *percent* of *ordered* do not exceed (nearest rank); 0 of none."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def _curve(measured: Sequence[Measured], questions: int, evidence: int) -> tuple[CurvePoint, ...]:
    """Return a point for each budget tried; of a config without one, the only point there is."""
    budgets: dict[int, tuple[int, int]] = {}
    for item in measured:
        for budget, tokens, in_window in item.asked.by_budget:
            before = budgets.get(budget, (0, 0))
            budgets[budget] = before[0] + tokens, before[1] + in_window
    if not budgets:
        tokens = sum(measured.asked.tokens for measured in measured)
        in_window = sum(measured.asked.in_window for measured in measured)
        return (CurvePoint(None, tokens // questions, _share(in_window, evidence)),)
    return tuple(
        CurvePoint(budget, tokens // questions, _share(in_window, evidence))
        for budget, (tokens, in_window) in sorted(budgets.items())
    )


def _share(part: int, whole: int) -> Decimal:
    return (Decimal(part) / Decimal(whole)).quantize(Decimal("0.0001"))
