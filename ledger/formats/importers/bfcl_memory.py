"""Conversations of the memory tasks of the Berkeley Function Calling Leaderboard, version 4.

Each line is a JSON object: ``{"id": "memory_prereq_0-customer-0", "topic": …, "question": [[message], …], "scenario":
"customer"}``. The conversations of a scenario share one memory, so they become one session, here ``customer``; its
questions are asked about all of them (see `ledger.replay.backtest.questions`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    conversation,
    shaped,
    text_of,
    with_leftovers,
)

FORMAT: Final = "bfcl-memory"


def detects(documents: Sequence[Document]) -> bool:
    """Tell whether *documents* are conversations of scenarios."""
    first = documents[0].value
    return isinstance(first, dict) and isinstance(first.get("scenario"), str) and _has_turns(first.get("question"))


def read(documents: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield one conversation for each scenario, with its parts in the order of the file.

    Parts of a scenario can be anywhere in the file, so the whole file is read before the first is yielded.

    Raises:
        ImportRefused: a line does not have the shape of the format.
    """
    messages: dict[str, list[tuple[int, list[JsonObject]]]] = {}
    for document in documents:
        with shaped("a conversation", line=document.line):
            part = document.value
            if "topic" not in part:
                message = "it is a question about conversations; `memory-ledger backtest --questions` reads those"
                raise ImportRefused("bad_shape", message, line=document.line)
            scenario = part["scenario"]
            if not isinstance(scenario, str):
                raise TypeError("the name of a scenario must be text")
            for turn in part["question"]:
                for message in turn:
                    messages.setdefault(scenario, []).append((document.line, [_entry(message, part)]))
    for scenario, found in messages.items():
        yield conversation(FORMAT, scenario, found)


def _entry(message: JsonObject, part: JsonObject) -> JsonObject:
    """Return a message, with the other fields of its conversation."""
    text, whole = text_of(message["content"])
    entry = {
        "kind": "message",
        "role": message["role"],
        "content": text,
        "data": None if whole is None else {"content": whole},
    }
    about = {name: value for name, value in part.items() if name not in {"question", "scenario"}}
    return with_leftovers(entry, message, {"role", "content"}, **about)


def _has_turns(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


IMPORTER: Final = Importer(FORMAT, detects, read)
