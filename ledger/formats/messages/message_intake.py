"""Messages of three shapes as raw entries: one for each text, tool call and result. Source: adapters IN-10, IN-11."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.formats.importers.elements.blocks import assistant_entries, has_blocks, user_entries
from ledger.formats.importers.elements.response_items import is_item
from ledger.formats.importers.openai_chat import message_entries
from ledger.formats.messages.beside_text import CONTENT, ITEM, THINKING_TYPES, THOUGHTS, item_draft
from ledger.session.attachments import check_beside, taken_out
from projections.entries import ONLY_REASONING, ONLY_THINKING, REASONING, THINKING

#: A message of any of the three shapes, as JSON or as an object of the client (with ``model_dump``).
Message: TypeAlias = Mapping[str, Any] | Any


def read_messages(messages: Sequence[Message]) -> tuple[list[JsonObject], dict[str, bytes]]:
    """Return the raw entries of *messages*, of any shape each, and the bytes that their parts refer to, by digest.

    Thinking and reasoning go into the data of the entry that follows them, since a provider takes them back only
    there.

    Raises:
        InvalidInput: ``wrong_type`` or ``bad_shape``; *field* says which message. Or ``too_large``: all attachments
            together have more than 80 MiB.
    """
    entries: list[JsonObject] = []
    names: dict[str, str] = {}
    waiting: list[JsonObject] = []  # reasoning, until the item that it led to
    for at, message in enumerate(messages):
        field = f"messages[{at}]"
        plain = _plain(message, field)
        try:
            found = _responses(plain, names, waiting) if is_item(plain) else _spoken(plain, names)
        except (AttributeError, KeyError, TypeError) as fault:
            text = "is no message of OpenAI chat, OpenAI Responses or Anthropic"
            raise InvalidInput("bad_shape", text, field=field) from fault
        entries += found
    if waiting:
        entries.append(_with(_message("assistant", ONLY_REASONING), {REASONING: waiting}))
    attachments: dict[str, bytes] = {}
    without = [{**entry, "data": _without_bytes(entry.get("data"), attachments)} for entry in entries]
    check_beside(sum(map(len, attachments.values())), field="messages")
    return without, attachments


def anthropic_entries(message: JsonObject, names: dict[str, str]) -> list[JsonObject]:
    """Return the raw entries of an Anthropic message; the names of called tools go into *names*."""
    content = message["content"]
    if message["role"] == "user" or not isinstance(content, list):
        return list((user_entries if message["role"] == "user" else assistant_entries)(content, names))
    entries: list[JsonObject] = []
    thoughts: list[JsonObject] = []
    for block in content:
        if block.get("type") in THINKING_TYPES:
            thoughts.append(block)
            continue
        found = list(assistant_entries([block], names))
        if thoughts:
            found[0], thoughts = _with(found[0], {THINKING: thoughts}), []
        entries += found
    if thoughts:
        entries.append(_with(_message("assistant", ONLY_THINKING), {THINKING: thoughts}))
    return entries


def _without_bytes(data: Any, attachments: dict[str, bytes]) -> Any:
    """Return *data* without its attachments; thinking stays whole, because a provider takes it back only so."""
    thoughts = {key: data[key] for key in THOUGHTS if key in data} if isinstance(data, dict) else {}
    taken = taken_out(data, {} if thoughts == data else attachments)
    return {**taken, **thoughts} if thoughts else taken


def _plain(message: Message, field: str) -> JsonObject:
    if hasattr(message, "model_dump"):
        message = message.model_dump(mode="json", exclude_none=True)
    if not isinstance(message, Mapping):
        raise InvalidInput("wrong_type", "must be an object, such as {'role': 'user', 'content': 'Hello'}", field=field)
    return dict(message)


def _spoken(message: JsonObject, names: dict[str, str]) -> list[JsonObject]:
    """Return the entries of a chat or an Anthropic message."""
    role = message["role"]
    if not isinstance(role, str):
        raise TypeError(role)
    if role in {"user", "assistant"} and has_blocks(message):
        return anthropic_entries(message, names)
    entries = message_entries(message, names)
    for entry in entries:
        data = entry.get("data")
        if isinstance(data, dict) and _is_all_text(data.get(CONTENT)):
            entry["data"] = {key: item for key, item in data.items() if key != CONTENT} or None
    return entries


def _responses(item: JsonObject, names: dict[str, str], waiting: list[JsonObject]) -> list[JsonObject]:
    if item.get("type") == "reasoning":
        waiting.append(item)
        return []
    entry = item_draft(item, names)
    data: JsonObject = {ITEM: item}
    if waiting and entry.get("role") != "user":
        data[REASONING] = waiting[:]
        waiting.clear()
    return [{**entry, "data": data}]


def _message(role: str, text: str) -> JsonObject:
    return {"kind": "message", "role": role, "content": text}


def _with(entry: JsonObject, data: JsonObject) -> JsonObject:
    return {**entry, "data": {**(entry.get("data") or {}), **data}}


def _is_all_text(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text" for part in content
    )
