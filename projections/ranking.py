"""What words are, for every search, and the fusion of several rankings into one. Pure."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

#: Damps the lead of the first ranks: the value of the paper (Cormack, Clarke and Büttcher, 2009).
RRF_K: Final = 60
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


def fuse(rankings: Iterable[Sequence[T]], *, k: int = RRF_K) -> list[tuple[T, float]]:
    """Return the items of *rankings*, each best first, by reciprocal rank fusion: the sum of 1 / (k + rank).

    Items with equal scores are in the order of the first ranking that has them.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
