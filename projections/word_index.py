"""Search for entries by BM25 over their words, in memory and pure. Source: R-REC-1.

The same entries give the same scores in any process, so that replays agree. Words are compared as the database does
by default, with the text search configuration ``simple``; the database ranks them in the same way.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

from projections.ranking import words

#: How much a repeated word adds, and how much a long text loses: the usual values.
_K1: Final = 1.2
_B: Final = 0.75


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
        """Return at most *top_k* (version, score) of entries that share a word, best first, then newest first."""
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
        return sorted(scores.items(), key=lambda hit: (-hit[1], -hit[0]))[:top_k]
