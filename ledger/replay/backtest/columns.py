"""The columns of a backtest's tables: their headings, their meanings, and a row as text. Pure."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from ledger.replay.backtest.explaining import Explained, ExplainedPiece
from ledger.replay.backtest.totals import Row

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
_RECALL: Final = (
    ("recall precision", "share of evidence among the entries that a search brought into the window"),
    ("wasted tokens", "tokens of such entries that are no evidence, for a question on average"),
)
_CATEGORY: Final = (
    ("category", "as the questions name it; other for those that name none"),
    ("questions", "how many there are"),
    ("evidence", "how many pieces of evidence they have; none if nobody said what they ask for"),
    ("search@5", "share of the evidence among the first five entries that a search of the whole session finds"),
    ("search@10", "share among the first ten"),
)
_IN_WINDOW: Final = "in window, "
#: The columns of the entries that outrank a piece of evidence, and those of them that hold words.
RANKED: Final = ("rank", "score", "words", "entry")
WORDS: Final = frozenset({"words", "entry"})
_PLACES: Final = {"window": "in the window", "summary": "behind a summary", "lost": "lost"}
_SHORT: Final = 160  # characters of an entry's text


def columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return heading and meaning of each column that applies to *rows*."""
    has_calls = any(row.model_calls for row in rows)
    last = [column for column in _LAST if has_calls or column[0] not in _MODELS]
    questions = _QUESTIONS if any(row.questions for row in rows) else ()
    recall = _RECALL if any(row.wasted_tokens is not None for row in rows) else ()
    return [*_FIRST, *questions, *recall, *last]


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
        "recall precision": percent(row.precision),
        "wasted tokens": "" if row.wasted_tokens is None else f"{row.wasted_tokens:,}",
    }


def category_columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return heading and meaning of each column of evidence by category; none if no question names one."""
    if all(part.category is None for row in rows for part in row.categories):
        return []
    meaning = "share of the evidence that this config shows when its question is asked"
    return [*_CATEGORY, *((f"{_IN_WINDOW}{row.config}", meaning) for row in rows)]


def category_cells(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return a row for each category as text, by heading."""
    return [
        {
            "category": part.category or "other",
            "questions": f"{part.questions:,}",
            "evidence": f"{part.evidence:,}",
            "search@5": percent(part.search_at_5),
            "search@10": percent(part.search_at_10),
            **{f"{_IN_WINDOW}{row.config}": percent(row.categories[place].in_window) for row in rows},
        }
        for place, part in enumerate(rows[0].categories)
    ]


def title_of(item: Explained) -> str:
    """Return the question with its session and category."""
    about = ", ".join(part for part in (item.session, item.category) if part)
    none = "" if item.pieces else ": it has no evidence"
    return f"{item.question} ({about}){none}"


def where(piece: ExplainedPiece, matches: int) -> str:
    """Return where the configs show a piece of evidence, and its rank among *matches* entries."""
    if piece.version is None:
        return f"{piece.evidence}: in no entry, so it counts as lost."
    named = {place: [name for name, at in piece.places.items() if at == place] for place in _PLACES}
    shown = "; ".join(f"{_PLACES[place]}: {', '.join(names)}" for place, names in named.items() if names)
    rank = f"rank {piece.found.rank:,} of {matches:,}" if piece.found else "shares no word with the question"
    return f"{piece.evidence}, version {piece.version}, {rank}; {shown}."


def ranked_cells(piece: ExplainedPiece) -> list[dict[str, str]]:
    """Return the entries above a piece of evidence, and the piece, as text by heading."""
    lines = [
        {
            "rank": f"{entry.rank:,}",
            "score": f"{entry.score:.2f}",
            "words": ", ".join(entry.words),
            "entry": f"{'[evidence] ' if entry.is_evidence else ''}{_shortened(entry.text)}",
        }
        for entry in (*piece.above, *([piece.found] if piece.found else ()))
    ]
    if piece.found is None and piece.version is not None:
        lines.append({"rank": "-", "score": "", "words": "", "entry": f"[evidence] {_shortened(piece.text)}"})
    return lines


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHORT else f"{plain[:_SHORT]}…"


def percent(share: Decimal | None) -> str:
    """Return a share as a percentage, empty if None."""
    return "" if share is None else f"{share:.1%}"
