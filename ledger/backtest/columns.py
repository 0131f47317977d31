"""The columns of a backtest's table: their headings, their meanings, and a row as text. Pure."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from ledger.backtest.totals import Row

#: Heading, what it means.
_FIRST: Final = (
    ("config", "the name of its file"),
    ("shown, median", "tokens the model is shown at a call, over every call of every session"),
    ("shown, p95", "the same, exceeded by one call in twenty"),
)
_LAST: Final = (
    ("shown, all", "tokens shown in all calls together: what the conversation itself costs as input"),
    ("compactions", "how often entries left the window for a summary, or for good; failed ones in brackets"),
    ("summary calls", "model calls to write summaries"),
    ("summary tokens", "what went into those calls and came out"),
    ("summary cost", "of those calls, in USD"),
    ("split tool pairs", "a call shown without its result or the other way round; must be 0"),
)
_MODELS: Final = {"summary calls", "summary tokens", "summary cost"}
_QUESTIONS: Final = (
    ("evidence in window", "share of the evidence that is shown when its question is asked"),
    ("in summaries", "share that a shown summary covers; its text may have left it out"),
    ("search@5", "share among the first five entries that a search of the whole session finds"),
    ("search@10", "share among the first ten"),
)


def columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return heading and meaning of each column that applies to *rows*."""
    has_calls = any(row.model_calls for row in rows)
    last = [column for column in _LAST if has_calls or column[0] not in _MODELS]
    return [*_FIRST, *(_QUESTIONS if any(row.questions for row in rows) else ()), *last]


def cells(row: Row) -> dict[str, str]:
    """Return a row as text, by heading."""
    failed = f" ({row.failed:,})" if row.failed else ""
    return {
        "config": row.config,
        "shown, median": f"{row.median_shown:,}",
        "shown, p95": f"{row.p95_shown:,}",
        "shown, all": f"{row.total_shown:,}",
        "compactions": f"{row.compactions:,}{failed}",
        "summary calls": f"{row.model_calls:,}",
        "summary tokens": f"{row.summary_tokens:,}",
        "summary cost": "unknown" if row.cost_usd is None else f"${row.cost_usd:.2f}",
        "split tool pairs": f"{row.split_pairs:,}",
        "evidence in window": percent(row.in_window),
        "in summaries": percent(row.in_summaries),
        "search@5": percent(row.search_at_5),
        "search@10": percent(row.search_at_10),
    }


def percent(share: Decimal | None) -> str:
    """Return a share as a percentage, empty if None."""
    return "" if share is None else f"{share:.1%}"
