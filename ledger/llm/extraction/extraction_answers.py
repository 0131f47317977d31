"""Checks of a model's answer: its shape and sizes; its words are data. Source: trust M-3.

An answer of the wrong shape is refused as a whole, and the model is asked again.
"""

import re
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from ledger.errors import InvalidInput, SummarizerFailed
from ledger.events.strict_json import JsonLimits, parse
from ledger.llm.extraction.extraction_prompts import MEMORY_CHARACTERS

#: How many memories an answer may have.
MOST_MEMORIES: Final = 50
#: All memories together may be this many times as long as their source, or have this many characters.
_GROWTH: Final = 2
_ALWAYS_ALLOWED: Final = 2_000
_MOST_NAMES: Final = 20
_NAME_CHARACTERS: Final = 100
_LIMITS: Final = JsonLimits(size=256 * 1024)
_FENCED: Final = re.compile(r"\A```(?:json)?\s*(\{.*\})\s*```\Z", re.DOTALL)


class ExtractedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that a model found."""

    text: str
    memory_type: Literal["semantic", "episodic"] = "semantic"
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    event_date: datetime | None = None


def memories_in(answer: str, *, source: str, longest: int = MEMORY_CHARACTERS) -> tuple[ExtractedMemory, ...]:
    """Return the memories in *answer*, each once; there may be none. *source* is the text it was asked about.

    A memory has at most *longest* characters.

    Raises:
        SummarizerFailed: ``empty``, or ``invalid_output``: it is not the requested JSON, or is too long.
    """
    text = answer.strip()
    if not text:
        raise SummarizerFailed("empty", "the answer is empty")
    fenced = _FENCED.match(text)
    try:
        value = parse((fenced.group(1) if fenced else text).encode(), _LIMITS)
    except (InvalidInput, UnicodeEncodeError) as fault:
        raise _refused("the answer is not the requested JSON") from fault
    listed = value.get("memories") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise _refused("the answer has no list of memories")
    if len(listed) > MOST_MEMORIES:
        raise _refused(f"the answer has more than {MOST_MEMORIES} memories")
    found = {memory.text: memory for memory in (_memory(item, longest) for item in listed)}
    if sum(map(len, found)) > max(_ALWAYS_ALLOWED, longest, _GROWTH * len(source)):
        raise _refused("the memories are too long for their source")
    return tuple(found.values())


def _memory(item: Any, longest: int) -> ExtractedMemory:
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise _refused("a memory has no text")
    if len(text) > longest:
        raise _refused(f"a memory has more than {longest} characters")
    episodic = item.get("type") == "episodic"
    return ExtractedMemory(
        text=text.strip(),
        memory_type="episodic" if episodic else "semantic",
        topics=_names(item.get("topics")),
        entities=_names(item.get("entities")),
        event_date=_date(item.get("event_date")) if episodic else None,
    )


def _names(value: Any) -> tuple[str, ...]:
    """Return the usable names of a list; names with commas are dropped, since a comma separates names (http W-16)."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _refused("topics and entities must be lists")
    named = (name.strip() for name in value if isinstance(name, str))
    usable = (name for name in named if name and "," not in name and len(name) <= _NAME_CHARACTERS)
    return tuple(dict.fromkeys(usable))[:_MOST_NAMES]


def _date(value: Any) -> datetime | None:
    """Return a time in UTC, or None if it is not a time; without an offset it is taken as UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _refused(detail: str) -> SummarizerFailed:
    return SummarizerFailed("invalid_output", detail)
