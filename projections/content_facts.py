"""The facts of an entry's content that folds need, computed once, when it is written. Source: R-GEN-1.

An event has them beside its content, so that a fold is the same with the content and without it.
"""

import re
from typing import Any, Final

from ledger.events import (
    NO_FACTS,
    CompactionCompleted,
    ContentFacts,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    Event,
    JsonObject,
)
from ledger.events.strict_json import INT_MAX
from projections.entries import BLOCK, HIDDEN, REASONING, REASONING_CONTENT, THINKING

#: How the types of blocks end that a provider's own tools have; those of the caller's tools are shorter.
_OF_SERVER_TOOLS: Final = ("_tool_use", "_tool_result")
_ERROR: Final = re.compile(r"\s*(error|exception|traceback)\b", re.IGNORECASE)
_ONLY_ERROR: Final = ContentFacts(reads_as_error=True)


def facts_of(content: str, data: Any, metadata: JsonObject | None) -> ContentFacts:
    """Return the facts of an entry with this text, data and metadata."""
    is_error = _ERROR.match(content) is not None
    if data is None and metadata is None:  # as of most
        return _ONLY_ERROR if is_error else NO_FACTS
    beside, known = data if isinstance(data, dict) else {}, metadata or {}
    block, usage, note = beside.get(BLOCK), known.get("usage"), known.get("import_note")
    facts = ContentFacts(
        thinks=any(map(beside.get, (THINKING, REASONING, REASONING_CONTENT))) or known.get(HIDDEN) is True,
        of_server_tool=isinstance(block, dict) and str(block.get("type")).endswith(_OF_SERVER_TOOLS),
        turn_goes_on=known.get("end_turn") is False,
        reads_as_error=is_error,
        input_tokens=_count(usage.get("input_tokens")) if isinstance(usage, dict) else None,
        window_not_known=isinstance(note, dict) and note.get("kind") == "window_not_known",
    )
    return NO_FACTS if facts == NO_FACTS else facts


def reads_as_error(content: str) -> bool:
    """Tell whether the first word of a text says that something failed."""
    return _ERROR.match(content) is not None


def wrong_fact(event: Event) -> str | None:
    """Return the field of *event*, which has its content, that says of the content what is not so; None if all is."""
    match event:
        case EntryAdded():
            return None if event.facts == facts_of(event.content, event.data, event.metadata) else "facts"
        case EntryEdited():
            return None if event.reads_as_error == reads_as_error(event.content) else "reads_as_error"
        case EntriesReturned(entries=back):
            wrong = (
                at for at, each in enumerate(back) if each.facts != facts_of(each.content, each.data, each.metadata)
            )
            return next((f"entries[{at}].facts" for at in wrong), None)
        case CompactionCompleted():
            return None if event.model_failed == bool(event.error) else "model_failed"
        case _:
            return None


def _count(reported: Any) -> int | None:
    """Return a number of tokens; None of anything else that a provider may have written in its place."""
    is_count = isinstance(reported, int) and not isinstance(reported, bool) and 0 <= reported <= INT_MAX
    return reported if is_count else None
