"""Cut entries and earlier summaries into the sentences that an extractive summary may quote. Pure.

Lines of code, items of lists and rows of tables are sentences of their own. No list of words is needed.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from projections.entries import Entry
from projections.prompts import label

#: Of a longer entry the beginning and the end are read.
_HEAD: Final = 16_000
_TAIL: Final = 4_000
#: A longer sentence is cut at a blank or comma.
_LONGEST: Final = 300
_LABEL: Final = 40

#: Beyond ASCII: an ellipsis and closing quotes; the full stops and question marks of writing without blanks, of
#: Devanagari, Arabic, Urdu and Ethiopic, which end a sentence without a blank.
_END: Final = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019\u00bb)\]]*\s+"
    r"|[\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362]+[\u201d\u2019\u300d\u300f\uff09)]*\s*"
)
#: What the full stop after it does not end: an initial, a short title, the number of a list.
_GOES_ON: Final = re.compile(r"(?:\b[^\W\d_]|\b[A-Z][a-z]{1,2}|^\W*\d+)\.$")
_BREAK: Final = re.compile(r"[,;\u3001\uff0c\uff1b\s]")
_LIST: Final = re.compile(r"\s*(?:[-*+•>|#]+\s+)+")
_FAILURE: Final = re.compile(
    r"error\b|exception\b|errno|fail|fatal|panic|denied|refused|timed? ?out|not found|cannot|invalid", re.IGNORECASE
)
_TRACE: Final = re.compile(r"\s*Traceback\b")
_MARKED: Final = re.compile(r"\[(\d{1,15})\] ([^:]{1,60}): (.*)")


class Sentence(NamedTuple):
    """A sentence, who said it in which version, and how much its words count; without version, of whom is unknown."""

    version: int | None
    speaker: str
    text: str
    weight: float


def sentences_of(entry: Entry) -> Iterator[Sentence]:
    """Yield the sentences of *entry* in order; those of a tool's result say its outcome as speaker."""
    content = entry.content
    if len(content) > _HEAD + _TAIL:
        content = f"{content[:_HEAD]}\n{content[-_TAIL:]}"
    speaker = _speaker(entry)
    if entry.kind == "tool_call":
        tool = entry.tool_name or ""
        yield from _weighted(entry, speaker, content.removeprefix(tool), 0.7)
    elif entry.outcome == "error":
        failure = _failure(content)
        yield from _weighted(entry, speaker, failure or "without a message", 2.0)
        yield from _weighted(entry, speaker, content.replace(failure, "", 1), 0.3)
    elif entry.kind == "tool_result":
        yield from _weighted(entry, speaker, content, 0.6)
    else:
        yield from _weighted(entry, speaker, content, 1.3 if entry.starts_interaction else 1.0)


def sentences_before(lines: Iterable[str]) -> Iterator[Sentence]:
    """Yield the sentences of an earlier summary, with the marks that its lines have."""
    for line in lines:
        marked = _MARKED.fullmatch(line)
        if marked is None:
            version, speaker, text = None, "", line
        else:
            version, speaker, text = int(marked[1]), marked[2], marked[3]
        for sentence in split(text):
            yield Sentence(version, speaker, sentence, 1.0)


def split(text: str) -> Iterator[str]:
    """Yield the sentences of *text* in order, each on one line and with at least one letter or digit."""
    for line in text.splitlines():
        for sentence in _ended(_LIST.sub("", line, count=1)):
            for piece in _short(" ".join(sentence.split())):
                if any(map(str.isalnum, piece)):
                    yield piece


def _weighted(entry: Entry, speaker: str, content: str, weight: float) -> Iterator[Sentence]:
    is_code = False
    for number, part in enumerate(content.split("```")):
        is_code = number % 2 == 1
        for sentence in split(part):
            yield Sentence(entry.version, speaker, sentence, weight * 0.5 if is_code else weight)


def _speaker(entry: Entry) -> str:
    if entry.kind == "tool_call":
        name = entry.tool_name or "tool"
    elif entry.kind == "tool_result":
        name = f"{entry.tool_name or 'tool'} {entry.outcome}"
    else:
        named = (entry.metadata or {}).get("name")
        name = f"{label(entry)} ({named})" if isinstance(named, str) and named else label(entry)
    return " ".join(name.replace(":", " ").split())[:_LABEL]


def _failure(content: str) -> str:
    """Return the first line of a failed result that says what failed, else its first line."""
    lines = [line for line in content.splitlines() if line.strip() and not _TRACE.match(line)]
    return next((line for line in lines if _FAILURE.search(line)), lines[0] if lines else "")


def _ended(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        end = match.end()
        if match[0].startswith(".") and (line[end : end + 1].islower() or _GOES_ON.search(line[start:end].rstrip())):
            continue
        yield line[start:end]
        start = end
    yield line[start:]


def _short(sentence: str) -> Iterator[str]:
    while len(sentence) > _LONGEST:
        breaks = [match.end() for match in _BREAK.finditer(sentence, _LONGEST // 2, _LONGEST)]
        cut = breaks[-1] if breaks else _LONGEST
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:]
    yield sentence
