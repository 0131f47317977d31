"""Search for entries by BM25 over their words, in memory and pure. Source: R-REC-1.

The same entries give the same scores in any process, so that replays agree. PostgreSQL ranks in the same way.
"""

import math
from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from projections.words.languages import SearchLanguage
from projections.words.ranking import BEST, COUNTED, DEFAULT_RANKING, Ranking
from projections.words.words import AskedWords, TextWords, asked_words

#: A word that occurs n times counts as much as these say: 1 + 1/4 + 1/9 + …
_REPEATED: Final = (0.0, *accumulate(1 / n**2 for n in range(1, 256)))


class ScoreParts(msgspec.Struct, frozen=True, kw_only=True):
    """Why an entry has its score: by its own words, and what its neighbours, its speaker and its day add."""

    words: float
    neighbours: float = 0.0
    speaker: float = 0.0
    date: float = 0.0

    @property
    def score(self) -> float:
        """The sum."""
        return self.words + self.neighbours + self.speaker + self.date


class Scores(msgspec.Struct, frozen=True):
    """The score of each text that has a word of the question, by its own words, and what its rarest word weighs."""

    by_version: dict[int, float]
    rarest: float


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a text was found: the words of the query that it has, the parts of its score by words, and its similarity.

    *by_words* is None if it was found by its meaning only, *similarity*, at most 1, if by its words only.
    """

    words: tuple[str, ...] = ()
    by_words: ScoreParts | None = None
    similarity: float | None = None

    @property
    def score(self) -> float:
        """The score by words."""
        return self.by_words.score if self.by_words else 0.0


class WordIndex:
    """An index that grows with a conversation; the cost of a change depends on the length of the entry's text."""

    def __init__(self, texts: Iterable[tuple[int, TextWords]] = (), *, language: SearchLanguage = "auto") -> None:
        self._language = language
        self._containing: dict[str, dict[int, int]] = {}
        self._texts: dict[int, TextWords] = {}
        self._lengths: dict[int, int] = {}
        self._total = 0
        for version, text in texts:
            self.add(version, text)

    def add(self, version: int, text: TextWords) -> None:
        """Add an entry's *text*, or replace its earlier text."""
        self.remove(version)
        for term, count in text.counts.items():
            self._containing.setdefault(term, {})[version] = count
        self._texts[version] = text
        self._lengths[version] = text.length
        self._total += text.length

    def remove(self, version: int) -> None:
        """Remove an entry, if it is in the index."""
        text = self._texts.pop(version, None)
        if text is not None:
            for term in text.counts:
                del self._containing[term][version]
            self._total -= self._lengths.pop(version)

    def search(self, query: str, top_k: int, ranking: Ranking = DEFAULT_RANKING) -> list[tuple[int, float]]:
        """Return at most *top_k* (version, score) of entries that share a word, best first, then newest first."""
        return [(version, why.score) for version, why in self.explain(query, top_k, ranking)]

    def explain(self, query: str, top_k: int, ranking: Ranking = DEFAULT_RANKING) -> list[tuple[int, Why]]:
        """Return what `search` does, with why each entry was found."""
        asked = self.asked(query)
        scores = self.scores(asked, ranking, scope=self._texts)
        own = scores.by_version
        best = sorted(own.items(), key=lambda hit: (-hit[1], -hit[0]))[: max(top_k, BEST)]
        order = sorted(self._texts)
        found = []
        for version, _ in best:
            at = bisect_left(order, version)
            before = [own.get(near, 0.0) for near in reversed(order[max(0, at - len(ranking.before)) : at])]
            after = [own.get(near, 0.0) for near in order[at + 1 : at + 2]]
            found.append((version, self.parts(version, asked, scores, ranking, before=before, after=after)))
        ordered = sorted(found, key=lambda hit: (-hit[1].score, -hit[0]))[:top_k]
        return [
            (version, Why(words=asked.found_in(self._texts[version]), by_words=parts)) for version, parts in ordered
        ]

    def asked(self, query: str) -> AskedWords:
        """Return what *query* asks of this index."""
        return asked_words(query, language=self._language)

    def scores(
        self, asked: AskedWords, ranking: Ranking = DEFAULT_RANKING, *, scope: Container[int] | None = None
    ) -> Scores:
        """Return the scores of the texts that share a word.

        How rare a word is, is counted among these texts: those in *scope*, or all. If they are too many to count, all
        texts of the index count.
        """
        with_word = {term: found for term in asked.stems if (found := self._containing.get(term))}
        texts = {version for found in with_word.values() for version in found if scope is None or version in scope}
        is_counted = scope is not None and len(texts) <= COUNTED
        count = len(texts) if is_counted else len(self._texts)
        scores: dict[int, float] = {}
        rarest = 0.0
        for found in with_word.values():
            number = len(texts.intersection(found)) if is_counted else len(found)
            weight = math.log(1 + max(count - number + 0.5, 0.0) / (number + 0.5))
            rarest = max(rarest, weight) if number else rarest
            for version, times in found.items():
                length = 1 - ranking.b + ranking.b * self._lengths[version] * len(self._texts) / self._total
                repeated = _REPEATED[min(times, len(_REPEATED) - 1)]
                share = repeated * (ranking.k1 + 1) / (repeated + ranking.k1 * length)
                scores[version] = scores.get(version, 0.0) + weight * share
        return Scores(scores, rarest)

    def parts(
        self,
        version: int,
        asked: AskedWords,
        scores: Scores,
        ranking: Ranking,
        *,
        before: Sequence[float],
        after: Sequence[float],
    ) -> ScoreParts:
        """Return the parts of an entry's score, whose neighbours have these scores, the nearest first."""
        text = self._texts[version]
        shares = sum(share * score for share, score in zip(ranking.before, before, strict=False))
        lent = (shares + ranking.after * sum(after[:1])) * min(1.0, ranking.short / max(1, self._lengths[version]))
        own = scores.by_version[version]
        named = sum(part.names(text.day) for part in asked.dates)
        is_named = not text.names.isdisjoint(asked.stems)
        return ScoreParts(
            words=own,
            neighbours=lent,
            speaker=(own + lent) * (ranking.speaker - 1) if is_named else 0.0,
            date=ranking.date * scores.rarest * named / max(1, len(asked.dates)),
        )
