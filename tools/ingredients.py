"""What each ingredient of the search adds: the evidence that is found without it, and with an embedder."""

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Final, TypeAlias

from msgspec.structs import replace

from ledger.llm.embedders.local import LocalEmbedder
from ledger.replay.backtest.backtest_run import BacktestSession
from ledger.replay.backtest.questions import Question, Transcript
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.strategies.retrieved import index_of
from projections.words.languages import SearchLanguage
from projections.words.ranking import DEFAULT_RANKING, FUSED, Ranking, fuse

#: From entries to what finds at most ten of them, by version, best first.
Search: TypeAlias = Callable[[str], list[int]]

_TOP: Final = 10


def by_words(entries: Sequence[Entry], ranking: Ranking = DEFAULT_RANKING, language: SearchLanguage = "auto") -> Search:
    """Return the search of a session by words."""
    index = index_of(entries, language)
    return lambda query: [version for version, _ in index.search(query, _TOP, ranking)]


def bare(entries: Sequence[Entry]) -> Search:
    """Return the search without what the metadata says."""
    return by_words([replace(entry, metadata=None) for entry in entries])


def by_meaning(entries: Sequence[Entry], ranking: Ranking) -> Search:
    """Return the search by words and meaning with these weights, or one of them alone."""
    index = index_of(entries)
    vectors = {entry.version: _vector(entry.content) for entry in entries}

    def found(query: str) -> list[int]:
        asked = _vector(query)
        near = sorted(
            ((version, sum(map(float.__mul__, asked, vector))) for version, vector in vectors.items()),
            key=lambda hit: (-hit[1], -hit[0]),
        )
        return [version for version, _ in fuse(index.search(query, FUSED), near[:FUSED], ranking)[:_TOP]]

    return found


VARIANTS: Final[dict[str, Callable[[Sequence[Entry]], Search]]] = {
    "all, by words": by_words,
    "words as they are, no stems": lambda entries: by_words(entries, language="simple"),
    "no names and captions": bare,
    "no neighbours": lambda entries: by_words(entries, Ranking(before=(0, 0, 0), after=0)),
    "no entry after": lambda entries: by_words(entries, Ranking(after=0)),
    "no speaker": lambda entries: by_words(entries, Ranking(speaker=1)),
    "no date": lambda entries: by_words(entries, Ranking(date=0)),
    "k1 1.2 and b 0.75, for long texts": lambda entries: by_words(entries, Ranking(k1=1.2, b=0.75)),
    "by words and meaning": lambda entries: by_meaning(entries, DEFAULT_RANKING),
    "by meaning alone": lambda entries: by_meaning(entries, Ranking(words=0, meaning=1)),
}


def shares(
    search_of: Callable[[Sequence[Entry]], Search], sessions: Sequence[BacktestSession], asked: Sequence[Question]
) -> list[Decimal]:
    """Return the shares of the pieces of evidence that are among the first five, and the first ten hits."""
    pieces, five, ten = 0, 0, 0
    for session in sessions:
        entries = [item for item in HISTORY.fold(session.events).current() if item.status != "removed"]
        search, transcript = search_of(entries), Transcript(entries)
        for question in (question for question in asked if question.session == session.name):
            found = search(question.question)
            for versions in (transcript.places(piece, exact=False) for piece in question.evidence):
                pieces += 1
                five += bool(versions & set(found[:5]))
                ten += bool(versions & set(found))
    return [Decimal(five) / pieces, Decimal(ten) / pieces]


@cache
def _vector(text: str) -> list[float]:
    (vector,) = asyncio.run(_model().embed([text]))
    return list(vector)


@cache
def _model() -> LocalEmbedder:
    return LocalEmbedder()
