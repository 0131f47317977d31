"""A window as a request of the OpenAI Responses API."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ledger.canonical import canonical_json
from ledger.events import JsonObject
from ledger.messages.beside_text import data_of
from ledger.messages.parts import ContentPart, media_of, named, parts_of
from ledger.messages.turns import AnsweredCall, Turn, instructions_of, turns_of
from projections.rendering import ShownMessage

_OWN: Final = frozenset({"input_text", "input_image", "input_file"})


def responses_request(shown: Sequence[ShownMessage], attachments: Mapping[str, bytes]) -> JsonObject:
    """Return ``{"instructions": …, "input": […]}``; without a system prompt only the input.

    An item that was given, such as reasoning with its call, goes back as it was.
    """
    turns = turns_of(shown, attachments)
    instructions = instructions_of(turns)
    kinds: dict[str, str] = {}  # of the calls, by id
    items = [item for turn in turns if turn.role != "system" for item in _items(turn, attachments, kinds)]
    return {**({"instructions": instructions} if instructions else {}), "input": items}


def _items(turn: Turn, attachments: Mapping[str, bytes], kinds: dict[str, str]) -> Iterator[JsonObject]:
    if turn.role == "tool":
        yield _result(turn, kinds)
        return
    if turn.text:
        yield from turn.data.get("reasoning", ()) if "item" in turn.data else ()
        yield _message(turn)
    for call in turn.calls:
        yield from _call(call, data_of(call.entry, attachments), kinds)


def _message(turn: Turn) -> JsonObject:
    item = turn.data.get("item")
    if item is not None and (turn.role != "user" or item.get("role") == "user"):
        return dict(item)
    parts = parts_of(turn.data.get("content")) if turn.role == "user" else []
    return {"role": turn.role, "content": [_responses_part(part) for part in parts] or turn.text}


def _call(call: AnsweredCall, data: JsonObject, kinds: dict[str, str]) -> Iterator[JsonObject]:
    item = data.get("item")
    if item is not None and item.get("call_id") == call.call_id:
        yield from data.get("reasoning", ())
        yield dict(item)
    else:
        arguments = canonical_json({} if call.arguments is None else call.arguments).decode()
        yield {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": arguments}
    kinds[call.call_id] = f"{item['type'] if item else 'function_call'}_output"


def _result(turn: Turn, kinds: Mapping[str, str]) -> JsonObject:
    item, kind = turn.data.get("item"), kinds[turn.call_id]
    if item is not None and item["type"] == kind and item.get("call_id") == turn.call_id:
        return dict(item)
    output = [_responses_part(part) for part in parts_of(turn.data.get("content"))]
    return {"type": kind, "call_id": turn.call_id, "output": output or turn.text}


def _responses_part(part: ContentPart) -> JsonObject:
    if part.type in _OWN:
        return part.raw
    if part.kind == "image":
        return {"type": "input_image", "image_url": part.url, "detail": "auto"}
    if part.kind == "file":
        at = {"file_data": part.url, "filename": part.name or "file"} if media_of(part.url) else {"file_url": part.url}
        return {"type": "input_file", **at}
    return {"type": "input_text", "text": named(part)}
