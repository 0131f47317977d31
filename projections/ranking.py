"""What words are, for every search, and the fusion of several rankings into one. Pure."""

import re
import unicodedata
from collections.abc import Hashable, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

#: The weights of words and of meaning.
_WORDS: Final = 0.6
_MEANING: Final = 0.4
#: The scores of a ranking are scaled over so many of its best hits.
FUSED: Final = 100
#: Of the characters beyond ASCII, `searchable` leaves only those of words.
_WORD: Final = re.compile(r"(?:[a-z0-9_]|[^\x00-\x7f])+")


class _Characters(dict[int, int]):
    """What becomes of each character: letters, marks and ASCII stay, digits become ASCII, and the rest blanks."""

    def __missing__(self, character: int) -> int:
        sign = chr(character)
        is_kept = character < 128 or unicodedata.category(sign)[0] in "LM"
        digit = unicodedata.decimal(sign, None)
        self[character] = character if is_kept else ord(" ") if digit is None else ord(str(digit))
        return self[character]


_CHARACTERS: Final = _Characters()


def searchable(text: str) -> str:
    """Return *text* as it is indexed and searched for: without case, composed, no signs beyond ASCII.

    What PostgreSQL takes for a letter or for its small form depends on the locale of a database, and so would what
    search finds (R-REC-4).
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).translate(_CHARACTERS)


def words(text: str) -> list[str]:
    """Return the words of *text* without case, in order, as the text search configuration ``simple`` does."""
    return _WORD.findall(searchable(text))


def fuse(by_words: Sequence[tuple[T, float]], by_meaning: Sequence[tuple[T, float]]) -> list[tuple[T, float]]:
    """Return the items of two rankings (item, score), each best first, by the weighted sum of their scaled scores.

    A ranking's scores are scaled so that its best hit has 1; the last of its `FUSED` best hits, and all below, have 0.
    Items with equal sums are in the order of the first ranking that has them.
    """
    sums: dict[T, float] = {}
    for weight, ranking in ((_WORDS, by_words), (_MEANING, by_meaning)):
        for item, score in _scaled(ranking):
            sums[item] = sums.get(item, 0.0) + weight * score
    return sorted(sums.items(), key=lambda pair: -pair[1])


def _scaled(ranking: Sequence[tuple[T, float]]) -> list[tuple[T, float]]:
    if not ranking:
        return []
    best, least = ranking[0][1], ranking[:FUSED][-1][1]
    span = best - least
    return [(item, max(0.0, (score - least) / span) if span else 1.0) for item, score in ranking]
