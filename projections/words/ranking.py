"""The weights of a search, and the fusion of several rankings into one. Pure. Source: R-REC-1."""

from collections.abc import Hashable, Sequence
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T", bound=Hashable)

#: The scores of a ranking are scaled over so many of its best hits.
FUSED: Final = 100
#: So many candidates, the best by their own words, get what context adds, or more if more are wanted.
BEST: Final = 200

#: How rare a word is, is counted in the session that is searched, among at most so many texts with a word of the query.
COUNTED: Final = 2_000

_Share = Annotated[float, Field(ge=0, le=10)]


class Ranking(BaseModel):
    """The weights of a search. A weight of 0, or 1 for *speaker*, turns its ingredient off."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k1: Annotated[float, Field(ge=0, le=10)] = 0.9
    """How much a repeated word adds; messages are short, so little."""
    b: Annotated[float, Field(ge=0, le=1)] = 0.4
    """How much a long text loses."""
    before: tuple[_Share, _Share, _Share] = (0.5, 0.25, 0.25)
    """The share of its own score that each of the three entries before lends an entry, the nearest first."""
    after: _Share = 0.25
    """The share that the entry after it lends."""
    short: Annotated[int, Field(ge=1)] = 30
    """An entry with more words is lent less, in proportion: it has its own context."""
    speaker: Annotated[float, Field(ge=1, le=10)] = 1.4
    """The factor for entries of a speaker whom the question names."""
    date: _Share = 0.5
    """The share of the weight of its rarest word that entries said on the day, or in the month, of a question get."""
    words: _Share = 0.6
    """The weight of words, with an embedder."""
    meaning: _Share = 0.4
    """The weight of meaning."""


DEFAULT_RANKING: Final = Ranking()


def fuse(
    by_words: Sequence[tuple[T, float]], by_meaning: Sequence[tuple[T, float]], ranking: Ranking = DEFAULT_RANKING
) -> list[tuple[T, float]]:
    """Return the items of two rankings (item, score), each best first, by the weighted sum of their scaled scores.

    A ranking's scores are scaled so that its best hit has 1; the last of its `FUSED` best hits, and all below, have 0.
    Items with equal sums are in the order of the first ranking that has them.
    """
    sums: dict[T, float] = {}
    for weight, hits in ((ranking.words, by_words), (ranking.meaning, by_meaning)):
        for item, score in _scaled(hits):
            sums[item] = sums.get(item, 0.0) + weight * score
    return sorted(sums.items(), key=lambda pair: -pair[1])


def _scaled(ranking: Sequence[tuple[T, float]]) -> list[tuple[T, float]]:
    if not ranking:
        return []
    best, least = ranking[0][1], ranking[:FUSED][-1][1]
    span = best - least
    return [(item, max(0.0, (score - least) / span) if span else 1.0) for item, score in ranking]
