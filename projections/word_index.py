"""Search for entries by BM25 over their words, in memory and pure. Source: R-REC-1.

The same entries give the same scores in any process, so that replays agree. Words are compared as the database does
by default, with the text search configuration ``simple``; the database ranks them in the same way.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from projections.ranking import words

#: How much a repeated word adds, and how much a long text loses. Messages are short, so both are low.
_K1: Final = 0.9
_B: Final = 0.4
#: The share of its own score that a neighbour lends, by its distance: the entries before, and the one after.
BEFORE: Final = (0.5, 0.25, 0.25)
AFTER: Final = 0.25
#: An entry with more words is lent less: a long one has its own context.
SHORT: Final = 30
#: So many candidates, the best by their own words, are lent scores, or more if more are wanted.
BEST: Final = 200


class Searcher(Protocol):
    """Finds entries."""

    def search(self, query: str, top_k: int) -> list[tuple[int, float]]:
        """Return at most *top_k* (version, score), score descending, then newest first."""
        ...


class WordIndex:
    """An index that grows with a conversation; the cost of a change depends on the length of the entry's text."""

    def __init__(self, texts: Iterable[tuple[int, str]] = ()) -> None:
        self._containing: dict[str, dict[int, int]] = {}
        self._terms: dict[int, tuple[str, ...]] = {}
        self._lengths: dict[int, int] = {}
        self._total = 0
        for version, text in texts:
            self.add(version, text)

    def add(self, version: int, text: str) -> None:
        """Add an entry's *text*, or replace its earlier text."""
        self.remove(version)
        counted = Counter(words(text))
        for term, count in counted.items():
            self._containing.setdefault(term, {})[version] = count
        self._terms[version] = tuple(counted)
        self._lengths[version] = counted.total()
        self._total += counted.total()

    def remove(self, version: int) -> None:
        """Remove an entry, if it is in the index."""
        for term in self._terms.pop(version, ()):
            del self._containing[term][version]
        self._total -= self._lengths.pop(version, 0)

    def search(self, query: str, top_k: int) -> list[tuple[int, float]]:
        """Return at most *top_k* (version, score) of entries that share a word, best first, then newest first.

        Neighbours lend an entry a share of their scores.
        """
        scores = self.scores(query)
        best = sorted(scores.items(), key=_best_first)[: max(top_k, BEST)]
        order = sorted(self._lengths)
        lent = []
        for version, score in best:
            at = bisect_left(order, version)
            before = [scores.get(near, 0.0) for near in reversed(order[max(0, at - len(BEFORE)) : at])]
            after = [scores.get(near, 0.0) for near in order[at + 1 : at + 2]]
            lent.append((version, score + self.lent(version, before, after)))
        return sorted(lent, key=_best_first)[:top_k]

    def scores(self, query: str) -> dict[int, float]:
        """Return the score of each entry that shares a word, by its own words."""
        scores: dict[int, float] = {}
        count = len(self._lengths)
        for term in dict.fromkeys(words(query)):
            found = self._containing.get(term)
            if not found:
                continue
            weight = math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
            for version, times in found.items():
                length = _K1 * (1 - _B + _B * self._lengths[version] * count / self._total)
                scores[version] = scores.get(version, 0.0) + weight * times * (_K1 + 1) / (times + length)
        return scores

    def lent(self, version: int, before: Sequence[float], after: Sequence[float]) -> float:
        """Return what neighbours with these scores, the nearest first, lend the entry at *version*."""
        shares = sum(share * score for share, score in zip(BEFORE, before, strict=False)) + AFTER * sum(after[:1])
        return shares * min(1.0, SHORT / max(1, self._lengths[version]))


def _best_first(hit: tuple[int, float]) -> tuple[float, int]:
    return -hit[1], -hit[0]
