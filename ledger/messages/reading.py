"""Messages of three shapes as raw entries: one for each text, tool call and result. Source: adapters IN-10, IN-11."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.importers.base import arguments_of, text_of
from ledger.importers.claude_lines import assistant_entries, user_entries
from ledger.importers.openai_chat import message_entries
from ledger.messages.attachments import taken_out

#: A message of any of the three shapes, as JSON or as an object of the client (with ``model_dump``).
Message: TypeAlias = Mapping[str, Any] | Any

_OF_ANTHROPIC: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result"}
)
_OF_RESPONSES: Final = frozenset(
    {"input_text", "output_text", "input_image", "input_file", "input_audio_file", "summary_text"}
)
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
#: Keys in the data of an entry: what its message had beside text, in the shape that it had.
THINKING, REASONING, ITEM, CONTENT = "thinking", "reasoning", "item", "content"


def read_messages(messages: Sequence[Message]) -> tuple[list[JsonObject], dict[str, bytes]]:
    """Return the raw entries of *messages*, of any shape each, and the bytes that their parts refer to, by digest.

    Thinking and reasoning go into the data of the entry that follows them, since a provider takes them back only
    there.

    Raises:
        InvalidInput: ``wrong_type`` or ``bad_shape``; *field* says which message.
    """
    entries: list[JsonObject] = []
    names: dict[str, str] = {}
    waiting: list[JsonObject] = []  # reasoning, until the item that it led to
    for at, message in enumerate(messages):
        field = f"messages[{at}]"
        plain = _plain(message, field)
        try:
            found = _responses(plain, names, waiting) if _is_item(plain) else _spoken(plain, names)
        except (AttributeError, KeyError, TypeError) as fault:
            text = "is no message of OpenAI chat, OpenAI Responses or Anthropic"
            raise InvalidInput("bad_shape", text, field=field) from fault
        entries += found
    if waiting:
        entries.append(_with(_message("assistant", "[reasoning]"), {REASONING: waiting}))
    attachments: dict[str, bytes] = {}
    return [{**entry, "data": taken_out(entry.get("data"), attachments)} for entry in entries], attachments


def anthropic_entries(message: JsonObject, names: dict[str, str]) -> list[JsonObject]:
    """Return the raw entries of an Anthropic message; the names of called tools go into *names*."""
    content = message["content"]
    if message["role"] == "user" or not isinstance(content, list):
        return list((user_entries if message["role"] == "user" else assistant_entries)(content, names))
    entries: list[JsonObject] = []
    thoughts: list[JsonObject] = []
    for block in content:
        if block.get("type") in _THINKING:
            thoughts.append(block)
            continue
        found = list(assistant_entries([block], names))
        if thoughts:
            found[0], thoughts = _with(found[0], {THINKING: thoughts}), []
        entries += found
    if thoughts:
        entries.append(_with(_message("assistant", "[thinking]"), {THINKING: thoughts}))
    return entries


def has_blocks(message: Any) -> bool:
    """Tell whether a message has parts that only Anthropic messages have."""
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and any(_part_type(part) in _OF_ANTHROPIC for part in content)


def _plain(message: Message, field: str) -> JsonObject:
    if hasattr(message, "model_dump"):
        message = message.model_dump(mode="json", exclude_none=True)
    if not isinstance(message, Mapping):
        raise InvalidInput("wrong_type", "must be an object, such as {'role': 'user', 'content': 'Hello'}", field=field)
    return dict(message)


def _is_item(message: JsonObject) -> bool:
    """Tell whether a message is an item of the Responses API, of which some have a role."""
    if "role" not in message:
        return isinstance(message.get("type"), str)
    content = message.get("content")
    return isinstance(content, list) and any(_part_type(part) in _OF_RESPONSES for part in content)


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
    kind, call_id = item.get("type"), item.get("call_id")
    if kind == "reasoning":
        waiting.append(item)
        return []
    if kind in _CALLS and isinstance(call_id, str):
        arguments, _ = arguments_of(item.get("arguments", item.get("input")))
        names[call_id] = str(item["name"])
        entry = {"kind": "tool_call", "tool_name": names[call_id], "tool_call_id": call_id, "arguments": arguments}
    elif isinstance(kind, str) and kind.endswith("_output") and isinstance(call_id, str):
        text, _ = text_of(_as_chat(item.get("output")))
        entry = {"kind": "tool_result", "tool_name": names.get(call_id), "tool_call_id": call_id, "content": text}
    elif isinstance(item.get("role"), str):
        text, _ = text_of(_as_chat(item.get("content")))
        role = "system" if item["role"] == "developer" else item["role"]
        entry = _message(role, text if text.strip() else f"[{kind or 'message'}]")
    else:
        entry = _message("assistant", f"[{kind}]")
    data: JsonObject = {ITEM: item}
    if waiting and entry.get("role") != "user":
        data[REASONING] = waiting[:]
        waiting.clear()
    return [_with(entry, data)]


def _as_chat(content: Any) -> Any:
    """Return the content of an item with its text parts named as those of chat."""
    if not isinstance(content, list):
        return content
    return [{**part, "type": "text"} if isinstance(part, dict) and "text" in part else part for part in content]


def _message(role: str, text: str) -> JsonObject:
    return {"kind": "message", "role": role, "content": text}


def _with(entry: JsonObject, data: JsonObject) -> JsonObject:
    return {**entry, "data": {**(entry.get("data") or {}), **data}}


def _part_type(part: Any) -> Any:
    return part.get("type") if isinstance(part, Mapping) else None


def _is_all_text(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text" for part in content
    )
