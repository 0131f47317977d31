"""The messages that a model is shown, with what their entries hold beside the text: the ground of every request."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ledger.events import JsonObject
from ledger.messages.beside_text import data_of
from projections.entries import Entry
from projections.rendering import ShownMessage


class AnsweredCall(NamedTuple):
    """A tool call that has its result."""

    call_id: str
    name: str
    arguments: Any
    entry: Entry


class Turn(NamedTuple):
    """A message: *text* may be empty before calls. *data* is what the entry holds beside it, if it is shown whole."""

    role: str
    text: str
    data: JsonObject
    entry: Entry | None = None
    calls: tuple[AnsweredCall, ...] = ()
    call_id: str = ""


def turns_of(shown: Iterable[ShownMessage], attachments: Mapping[str, bytes]) -> list[Turn]:
    """Return *shown* as turns, with the bytes of *attachments* in the parts that refer to them."""
    turns = []
    for message, sources in shown:
        asked = message.get("tool_calls") or ()
        calls = tuple(
            AnsweredCall(call["id"], call["function"]["name"], entry.arguments, entry)
            for call, entry in zip(asked, sources[len(sources) - len(asked) :], strict=True)
            if isinstance(entry, Entry)
        )
        text = message["content"] or ""
        only = sources[0] if len(sources) == 1 + len(calls) and isinstance(sources[0], Entry) else None
        data = {} if only is None or only.content != text else data_of(only, attachments)
        turns.append(Turn(message["role"], text, data, only, calls, message.get("tool_call_id", "")))
    return turns


def instructions_of(turns: Iterable[Turn]) -> str:
    """Return the system prompt: what the turns of the role ``system`` say."""
    return "\n\n".join(turn.text for turn in turns if turn.role == "system")
