"""How much memory a state of a session takes, without the content of its pages, by estimate."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from ledger.session.state import SessionState

_STATE_B: Final = 4_000
_PER_ENTRY_B: Final = 100  # of each active entry its version, tokens and place
_PER_OBJECT_B: Final = 700


def session_size_b(state: SessionState) -> int:
    """Return the estimate; it costs as much as a look at each memory, summary and value of the session's data."""
    entries, working = state.window.entries, state.working
    requests = (each.request for each in state.compactions.in_flight)
    return (
        _STATE_B
        + _PER_ENTRY_B * len(entries)
        + _texts_b(entry.content for entry in entries.tail)
        + _texts_b(summary.text for summary in state.summaries.live)
        + _texts_b(memory.fields.text for memory in working.memories)
        + sum(map(_json_b, (working.data, *requests)))
    )


def _texts_b(texts: Iterable[str]) -> int:
    return sum(_PER_OBJECT_B + len(text) for text in texts)


def _json_b(value: Any) -> int:
    return 4 * len(msgspec.json.encode(value)) if value else 0
