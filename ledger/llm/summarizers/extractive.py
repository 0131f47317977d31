"""A summary without a model: an overview, then the sentences that say most, each with its version. Pure.

A sentence is worth the words in it that no chosen sentence has: the rarer in the block, the more; names, numbers and
dates count more than other words. The best ones for their length are chosen until the budget is full. Lists of words
only add weight, so any language works. Source: R-SUM-10, R-SUM-11.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

import regex

from ledger.llm.summarizers.overview import Overview, overview_of, parted
from ledger.llm.summarizers.sentences import Sentence, sentences_before, sentences_of
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import SummaryText
from projections.entries import Entry
from projections.prompts import SummaryRequest
from projections.words.languages import UNSPACED

#: The tokens of a summary of which nothing says how long it should be.
TOKENS: Final = 1_000

#: What a word is worth that a chosen sentence has already.
_REPEATED: Final = 0.2
_ASKING: Final = 0.6
_NUMBER: Final = 2.0
_NAME: Final = 1.5
_LONG: Final = 6  # letters; shorter words are worth less
#: What a line costs beside its text, in tokens.
_MARK: Final = 6
#: After so many sentences that do not fit any more, the summary is full.
_MISSES: Final = 20

_RUN: Final = regex.compile(rf"(?:(?={UNSPACED})\X)+")
_CHARACTER: Final = regex.compile(r"\X")
_TERM: Final = regex.compile(rf"{_RUN.pattern}|(?:(?!{UNSPACED})\w)+(?:[.,:/@'\u2019-](?!{UNSPACED})\w+)*")
_QUESTION: Final = re.compile(r"[?\uff1f\u061f]\W*$")
_WEIGHTS: Final = {
    1.1: "i i'm i've i'd i'll my me mine we we're our ich mein meine wir unser je j'ai mon ma mes nous notre yo mi mis "
    "nosotros nuestro io mio mia noi eu meu minha nós я мой моя мы наш",
    1.2: "decided decide decision agreed agree confirmed chose choose prefer prefers preferred must never always "
    "deadline instead changed correction remember entschieden beschlossen vereinbart bevorzuge immer décidé préfère "
    "toujours jamais decidido acordado prefiero siempre nunca deciso preferisco sempre решили всегда",
    1.3: "error errors failed fails failure exception fatal denied refused broken bug wrong fehler fehlgeschlagen "
    "erreur échec fallo errore falha ошибка",
}
_WORTH: Final = {word: weight for weight, words in _WEIGHTS.items() for word in words.split()}


class Extractive:
    """A `ports.models.Summarizer` that quotes the entries of the request and calls no model.

    Summaries record it as the method ``heuristic``: written by rules.
    """

    method = "heuristic"
    model: str | None = None

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        """Return the extractive summary of the request's entries and of the summaries it continues."""

        def count(text: str) -> int:
            return TOKENIZERS["o200k_base"].count_text(text).tokens

        budget = request.target_tokens or TOKENS
        return SummaryText(extract(request.entries, request.folded, budget=budget, count=count))


def extract(entries: Sequence[Entry], folded: Sequence[str], *, budget: int, count: Callable[[str], int]) -> str:
    """Return the extractive summary of *entries*, oldest first, and of the summaries it continues.

    It has at most *budget* tokens, as *count* counts them, unless its first two lines alone have more.
    """
    overview, found = Overview(), list[Sentence]()
    for text in folded:
        before, lines = parted(text)
        overview = overview.then(before)
        found += sentences_before(lines)
    overview = overview.then(overview_of(entries))
    for entry in entries:
        found += sentences_of(entry)
    head = _head(overview.lines, budget // 2, count)
    chosen = _chosen(found, head, budget, count)
    while chosen:
        text = "\n".join([*head, *_lines(found, chosen)])
        if count(text) <= budget:
            return text
        chosen.pop()
    return "\n".join(head)


def terms(text: str) -> list[str]:
    """Return the words of *text* as written; where writing has no blanks between words, pairs of characters."""
    found: list[str] = []
    for word in _TERM.findall(text):
        signs = _CHARACTER.findall(word) if _RUN.match(word) else ()
        found += [word] if len(signs) <= 2 else map("".join, pairwise(signs))
    return found


def _head(lines: list[str], budget: int, count: Callable[[str], int]) -> list[str]:
    """Return as many of the first *lines* as *budget* has room for, at least two."""
    while len(lines) > 2 and count("\n".join(lines)) > budget:
        lines = lines[:-1]
    return lines


def _chosen(found: Sequence[Sentence], head: Sequence[str], budget: int, count: Callable[[str], int]) -> list[int]:
    """Return the places in *found* of the sentences to quote, the best one for its length first."""
    values = _values(found)
    stress = [_stress(sentence, value) for sentence, value in zip(found, values, strict=True)]
    first = [line for line in head if line.startswith("First:")]  # the last message is another one next time
    seen = {term.casefold() for line in first for term in terms(line)}
    left = budget - count("\n".join(head))
    empty = count("")
    marked: set[tuple[int | None, str]] = set()
    chosen: list[int] = []

    def worth(place: int) -> float:
        words = values[place]
        new = sum(value for term, value in words.items() if term not in seen)
        repeated = sum(words.values()) - new if new else 0.0
        return -(new + repeated * _REPEATED) * stress[place] / (len(found[place].text.encode()) / 4 + _MARK)

    heap = [(worth(place), place) for place in range(len(found))]
    heapq.heapify(heap)
    misses = 0
    while heap and left > 0 and misses < _MISSES:
        _, place = heapq.heappop(heap)
        now = worth(place)
        if not now:
            continue
        if heap and now > heap[0][0]:  # words of it were chosen meanwhile; its worth only falls
            heapq.heappush(heap, (now, place))
            continue
        sentence = found[place]
        source = (sentence.version, sentence.speaker)
        line = f" {sentence.text}" if source in marked else f"\n{_mark(*source)}{sentence.text}"
        cost = count(line) - empty
        if cost > left:
            misses += 1
            continue
        left -= cost
        marked.add(source)
        chosen.append(place)
        seen.update(values[place])
    return chosen


def _values(found: Sequence[Sentence]) -> list[dict[str, float]]:
    """Return what the words of each sentence are worth, by word without case."""
    written = [{term.casefold(): (place, term) for place, term in enumerate(terms(item.text))} for item in found]
    containing = Counter(term for each in written for term in each)
    return [
        {
            term: _value(word, is_first=place == 0) * math.log(1 + len(found) / containing[term])
            for term, (place, word) in each.items()
        }
        for each in written
    ]


def _stress(sentence: Sentence, values: Iterable[str]) -> float:
    """Return by what the words of *sentence* count more or less: its kind, and what it is about."""
    about = {_WORTH[term] for term in values if term in _WORTH}
    asks = _ASKING if _QUESTION.search(sentence.text) else 1.0
    return math.prod(sorted(about), start=sentence.weight * asks)


def _value(word: str, *, is_first: bool) -> float:
    if any(map(str.isdigit, word)):
        return _NUMBER
    length = 1.0 if _RUN.match(word) else min(1.0, len(word) / _LONG)
    is_name = word != word.lower() and not (is_first and word[1:] == word[1:].lower())
    return length * _NAME if is_name and len(word) > 1 else length


def _lines(found: Sequence[Sentence], chosen: Iterable[int]) -> Iterator[str]:
    """Yield the quoted lines in the order of the conversation, the sentences of one source on one line."""
    for source, places in groupby(sorted(chosen), key=lambda place: found[place][:2]):
        pieces, last = [], None
        for place in places:
            pieces.append(found[place].text if last in {None, place - 1} else f"… {found[place].text}")
            last = place
        yield _mark(*source) + " ".join(pieces)


def _mark(version: int | None, speaker: str) -> str:
    return "" if version is None else f"[{version}] {speaker}: "
