"""What the words of a text are, for every search: those that are indexed, and those that a question asks for. Pure."""

import re
import unicodedata
from collections import Counter
from datetime import date
from itertools import chain, pairwise
from typing import Final

import msgspec
import regex

from projections.words.dates import DatePart, date_parts
from projections.words.languages import FALLBACK, UNSPACED, detect, languages_of, stem

#: A word of more bytes is not indexed: it is data.
WORD_BYTES: Final = 512
#: Of the characters beyond ASCII, `_searchable` leaves only those of words.
_WORD: Final = re.compile(r"(?:[a-z0-9_]|[^\x00-\x7f])+")
#: A run of characters, as readers count them, of writing in which a word does not end at a blank.
_RUN: Final = regex.compile(rf"(?:(?={UNSPACED})\X)+")
_CHARACTER: Final = regex.compile(r"\X")


class TextWords(msgspec.Struct, frozen=True):
    """The words of a text as they are indexed: how often each occurs, those of its speaker's name among them.

    *length* is the number of its words; the single characters of unspaced writing, under which it is found too, do
    not count. *day* is when it was said, *language* what its words were taken for.
    """

    counts: dict[str, int]
    names: frozenset[str]
    length: int
    day: date | None
    language: str


class AskedWord(msgspec.Struct, frozen=True):
    """A word of a question as it was asked, and as texts may have it: its stems."""

    asked: str
    stems: tuple[str, ...]


class AskedWords(msgspec.Struct, frozen=True):
    """What a question asks for: words, the stems of all of them, each once, and the days that it names."""

    words: tuple[AskedWord, ...]
    stems: tuple[str, ...]
    dates: tuple[DatePart, ...]

    def found_in(self, text: TextWords) -> tuple[str, ...]:
        """Return those of the words, as they were asked, that *text* has."""
        return tuple(word.asked for word in self.words if not text.counts.keys().isdisjoint(word.stems))


class _Characters(dict[int, int]):
    """What becomes of each character: letters, marks and ASCII stay, digits become ASCII, and the rest blanks."""

    def __missing__(self, character: int) -> int:
        sign = chr(character)
        stays = character < 128 or unicodedata.category(sign)[0] in "LM"
        digit = unicodedata.decimal(sign, None)
        self[character] = character if stays else ord(" ") if digit is None else ord(str(digit))
        return self[character]


_CHARACTERS: Final = _Characters()
#: What folding makes of the capital of Turkish i: it has a second dot then.
_DOTTED_I: Final = "i\u0307"


def words(text: str) -> list[str]:
    """Return the words of *text* without case, in order.

    Of a run of unspaced writing, these are each pair of characters that follow each other, or its only character.
    """
    found: list[str] = _WORD.findall(_searchable(text))
    return found if text.isascii() else [part for word in found for part in _parts(word)]


def index_words(text: str, *, names: str = "", day: date | None = None, language: str) -> TextWords:
    """Return the words under which *text* is found, in *language*, with the words of its speaker's *names*."""
    found = _short(words(text))
    own = (detect(found) or FALLBACK) if language == "auto" else language
    name_words = [stem(word, own) for word in _short(words(names))]
    counts = Counter([*(stem(word, own) for word in found), *name_words])
    length = counts.total()
    counts.update(_characters(f"{text}\n{names}"))
    return TextWords(dict(counts), frozenset(name_words), length, day, own)


def asked_words(text: str, *, language: str) -> AskedWords:
    """Return what the question *text* asks for among texts that were indexed with the same *language*."""
    found = list(dict.fromkeys(_short(words(text))))
    languages = languages_of(found, language)
    each = tuple(AskedWord(word, tuple(dict.fromkeys(stem(word, own) for own in languages))) for word in found)
    stems = tuple(dict.fromkeys(chain.from_iterable(word.stems for word in each)))
    return AskedWords(each, stems, date_parts(text.casefold(), found))


def _searchable(text: str) -> str:
    """Return *text* without case and without differences of form, by the rules of Unicode (NFKC_Casefold)."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded.replace(_DOTTED_I, "i").translate(_CHARACTERS)


def _characters(text: str) -> list[str]:
    """Return the single characters of all runs of unspaced writing that have more than one, in order."""
    if text.isascii():
        return []
    runs = (run.group() for run in _RUN.finditer(_searchable(text)))
    return [sign for run in runs for signs in [_CHARACTER.findall(run)] if len(signs) > 1 for sign in signs]


def _short(found: list[str]) -> list[str]:
    longest = max(map(len, found), default=0)
    return found if longest <= WORD_BYTES // 4 else [word for word in found if len(word.encode()) <= WORD_BYTES]


def _parts(word: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for run in () if word.isascii() else _RUN.finditer(word):
        before, signs = word[at : run.start()], _CHARACTER.findall(run.group())
        parts += [before] if before else []
        parts += [first + second for first, second in pairwise(signs)] or signs
        at = run.end()
    return parts + ([word[at:]] if at < len(word) else [])
