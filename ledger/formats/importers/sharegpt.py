"""Conversations in the shape of ShareGPT: turns with ``from`` and ``value``. Source: adapters IN-12."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    arguments_of,
    conversation,
    shaped,
    with_leftovers,
)
from ledger.formats.importers.elements.steps import EMPTY, GUESSED, noted

FORMAT: Final = "sharegpt"
_ROLES: Final = {
    **dict.fromkeys(("human", "user", "prompter"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "model", "ai", "bot"), "assistant"),
    **dict.fromkeys(("bing", "bard", "claude", "gemini"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_CALLS: Final = {"function_call", "tool_call"}
_RESULTS: Final = {"observation", "tool", "function_response"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a conversation of such turns, or a list of conversations."""
    value = found[0].value
    return _is_conversation(value[0] if isinstance(value, list) and value else value)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the conversations, named by their id or by the file."""
    for document in found:
        items = document.value if isinstance(document.value, list) else [document.value]
        for item in items:
            if not _is_conversation(item):
                raise ImportRefused("bad_shape", "must be a conversation of turns", line=document.line)
            own = item.get("id")
            yield _conversation(item, own if isinstance(own, str) and own else name, document.line)


def _conversation(item: JsonObject, session_id: str, line: int) -> ConversationReader:
    about = {key: value for key, value in item.items() if key != "conversations" and value is not None}
    return conversation(FORMAT, session_id, _turns(item, session_id, line), about=about)


def _turns(item: JsonObject, session_id: str, line: int) -> Iterator[tuple[int, list[JsonObject]]]:
    turns = list(item["conversations"])
    if isinstance(item.get("system"), str) and item["system"].strip():
        turns.insert(0, {"from": "system", "value": item["system"]})
    called: str | None = None
    for number, turn in enumerate(turns):
        with shaped(f"{session_id}, turn {number}", line=line):
            entry = _entry(turn, called)
        called = entry.get("tool_name") if entry["kind"] == "tool_call" else called
        yield line, [with_leftovers(entry, turn, {"from", "value"}, original_role=turn["from"])]


def _entry(turn: JsonObject, called: str | None) -> JsonObject:
    """Return the raw entry of a turn; a result belongs to the call before it, of the tool *called*."""
    speaker, value = str(turn["from"]).lower(), turn["value"]
    if speaker in _CALLS:
        call, raw = arguments_of(value)
        if isinstance(call, dict) and isinstance(call.get("name"), str) and call["name"]:
            arguments, _ = arguments_of(call.get("arguments", call.get("parameters")))
            entry: JsonObject = {"kind": "tool_call", "tool_name": call["name"], "arguments": arguments}
            rest = {key: each for key, each in call.items() if key not in {"name", "arguments", "parameters"}}
            return {**entry, "data": {"call": call if rest else value} if rest or raw is not None else None}
        return {"kind": "tool_call", "tool_name": "unknown", "arguments": call}
    if speaker in _RESULTS:
        return {"kind": "tool_result", "tool_name": called, "content": value}
    role = _ROLES.get(speaker)
    text = value if isinstance(value, str) else canonical_json(value).decode()
    content: JsonObject = {"content": text if text.strip() else EMPTY}
    if text is not value or not text.strip():
        content["data"] = {"value": value}
    if role is None:
        return noted(
            {"kind": "context", **content}, GUESSED, f"the speaker {str(turn['from'])[:100]!r} is shown as context"
        )
    return {"kind": "message", "role": role, **content}


def _is_conversation(value: Any) -> bool:
    turns = value.get("conversations") if isinstance(value, dict) else None
    first = turns[0] if isinstance(turns, list) and turns else None
    return isinstance(first, dict) and isinstance(first.get("from"), str) and "value" in first


IMPORTER: Final = Importer(FORMAT, detects, read)
