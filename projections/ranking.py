"""Fusion of several rankings of the same items into one. Pure."""

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

#: Damps the lead of the first ranks: the value of the paper (Cormack, Clarke and Büttcher, 2009).
RRF_K: Final = 60
_WORD: Final = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of *text* in lower case, in order, as the text search configuration ``simple`` does."""
    return _WORD.findall(text.lower())


def fuse(rankings: Iterable[Sequence[T]], *, k: int = RRF_K) -> list[tuple[T, float]]:
    """Return the items of *rankings*, each best first, by reciprocal rank fusion: the sum of 1 / (k + rank).

    Items with equal scores are in the order of the first ranking that has them.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
