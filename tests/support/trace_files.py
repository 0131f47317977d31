"""Files of traces, as long as a test wants: each call repeats its conversation, and the lines are shuffled."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.support.model_spans import attributes_of_call, said, span_json, traces_json

#: Calls of each conversation; the last one shows two messages for each.
TURNS: Final = 6
_WORDS: Final = " ".join(f"word{number}" for number in range(2_000))


def text_of(conversation: int, message: int) -> str:
    """A text of about 600 characters that no other message has."""
    start = (conversation * 7_919 + message * 104_729) % (len(_WORDS) - 700)
    return f"{conversation}.{message} {_WORDS[start : start + 500 + start % 200]}"


def name_of(conversation: int) -> str:
    return f"talk-{conversation:06d}"


def _texts(conversation: int, turn: int) -> tuple[list[str], str]:
    """What is said before the answer of a turn, and the answer."""
    *before, answer = (text_of(conversation, message) for message in range(2 * turn + 2))
    return before, answer


def _role(message: int) -> str:
    return "assistant" if message % 2 else "user"


def _chat(texts: list[str]) -> list[dict[str, str]]:
    return [{"role": _role(place), "content": text} for place, text in enumerate(texts)]


def _time(conversation: int, turn: int, milliseconds: int) -> str:
    at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=conversation * TURNS + turn, milliseconds=milliseconds)
    return at.isoformat()


def _otlp(conversation: int, turn: int) -> dict[str, Any]:
    before, answer = _texts(conversation, turn)
    shown = [said(_role(place), text) for place, text in enumerate(before)]
    attributes = attributes_of_call(name_of(conversation), shown, [said("assistant", answer)])
    span = conversation * TURNS + turn + 1
    return traces_json(span_json(attributes, span=span, trace=conversation + 1))


def _langsmith(conversation: int, turn: int) -> dict[str, Any]:
    before, answer = _texts(conversation, turn)
    began = _time(conversation, turn, 1)
    return {
        "id": f"run-{conversation}-{turn}",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "trace_id": f"trace-{conversation}",
        "dotted_order": f"{began}run-{conversation}-{turn}",
        "start_time": began,
        "end_time": _time(conversation, turn, 5),
        "inputs": {"messages": _chat(before)},
        "outputs": {"output": {"role": "assistant", "content": answer}},
        # only one run of the trace names its thread
        "extra": {"metadata": {"thread_id": name_of(conversation)} if turn == 1 else {}},
    }


def _langfuse(conversation: int, turn: int) -> dict[str, Any]:
    before, answer = _texts(conversation, turn)
    return {
        "id": f"observation-{conversation}-{turn}",
        "traceId": f"trace-{conversation}",
        "type": "GENERATION",
        "name": "answer",
        "startTime": _time(conversation, turn, 1),
        "endTime": _time(conversation, turn, 5),
        "input": _chat(before),
        "output": {"role": "assistant", "content": answer},
        "model": "gpt-5",
        **({"sessionId": name_of(conversation)} if turn == 1 else {}),
    }


#: What writes the line of a turn, by format.
LINES: Final[Mapping[str, Callable[[int, int], dict[str, Any]]]] = {
    "otlp": _otlp,
    "langsmith": _langsmith,
    "langfuse": _langfuse,
}


def write_traces(path: Path, format_: str, seed: int, size: int) -> int:
    """Write a file of about *size* bytes, the lines of each conversation in any order and far apart.

    Return the number of conversations.
    """
    count = max(1, size // sum(len(_line(format_, 0, turn)) for turn in range(TURNS)))
    turns = [(conversation, turn) for conversation in range(count) for turn in range(TURNS)]
    Random(seed).shuffle(turns)
    with path.open("wb") as file:
        file.writelines(_line(format_, conversation, turn) for conversation, turn in turns)
    return count


def _line(format_: str, conversation: int, turn: int) -> bytes:
    return json.dumps(LINES[format_](conversation, turn)).encode() + b"\n"
