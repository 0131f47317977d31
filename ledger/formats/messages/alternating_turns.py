"""The messages that a model is shown, with what their entries hold beside the text: the ground of every request."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ledger.events import JsonObject
from ledger.formats.messages.beside_text import data_of
from projections.entries import Entry
from projections.rendering import Shown, ShownMessage


class AnswerPart(NamedTuple):
    """A text of an answer, or a call with its *call_id* and *name*; *data* is what its entry holds beside it."""

    entry: Entry
    text: str
    data: JsonObject
    call_id: str = ""
    name: str = ""


class Turn(NamedTuple):
    """A message: *parts* are those of an answer that calls tools, in their order.

    Of any other message, *data* is what the entry holds beside the text, if it is shown whole.
    """

    role: str
    text: str
    data: JsonObject
    entry: Entry | None = None
    parts: tuple[AnswerPart, ...] = ()
    call_id: str = ""


def turns_of(shown: Iterable[ShownMessage], attachments: Mapping[str, bytes]) -> list[Turn]:
    """Return *shown* as turns, with the bytes of *attachments* in the parts that refer to them."""
    turns = []
    for message, sources in shown:
        text = message["content"] or ""
        if message.get("tool_calls"):
            turns.append(Turn(message["role"], text, {}, parts=tuple(_parts(message, sources, attachments))))
            continue
        only = sources[0] if len(sources) == 1 and isinstance(sources[0], Entry) else None
        data = {} if only is None or only.content != text else data_of(only, attachments)
        turns.append(Turn(message["role"], text, data, only, (), message.get("tool_call_id", "")))
    return turns


def _parts(message: JsonObject, sources: Iterable[Shown], attachments: Mapping[str, bytes]) -> Iterator[AnswerPart]:
    calls = iter(message["tool_calls"])
    for entry in sources:
        if not isinstance(entry, Entry):
            continue
        data = data_of(entry, attachments)
        if entry.kind == "tool_call":
            call = next(calls)
            yield AnswerPart(entry, "", data, call["id"], call["function"]["name"])
        else:
            yield AnswerPart(entry, entry.content, data)


def instructions_of(turns: Iterable[Turn]) -> str:
    """Return the system prompt: what the turns of the role ``system`` say."""
    return "\n\n".join(turn.text for turn in turns if turn.role == "system")
