"""The content blocks of Anthropic messages as entries. Source: adapters IN-4, IN-11."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.limits import CONTENT_BYTES
from ledger.formats.importers.elements.fitting import fitted
from ledger.formats.importers.elements.importer import text_of, with_leftovers
from ledger.formats.importers.elements.steps import EMPTY, hidden
from projections.entries import THINKING

#: Types of blocks that no other shape of messages has.
_OWN: Final = frozenset({"thinking", "redacted_thinking", "image", "document", "search_result"})
#: How the types of calls and results end, of the caller's tools and of those that the provider runs.
_OF_TOOLS: Final = ("tool_use", "tool_result")


def has_blocks(message: Any) -> bool:
    """Tell whether a message has blocks that only Anthropic messages have."""
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and any(
        isinstance(part, dict) and ((kind := str(part.get("type"))) in _OWN or kind.endswith(_OF_TOOLS))
        for part in content
    )


def block_message_entries(message: JsonObject, tools: dict[str, str]) -> list[JsonObject]:
    """Return the raw entries of a message with blocks; the names of called tools go into *tools*."""
    entries_of = user_entries if message["role"] == "user" else assistant_entries
    entries = list(entries_of(message["content"], tools))
    entries[0] = with_leftovers(
        entries[0],
        message,
        {"role", "content", "id", "type", "model", "stop_reason", "usage"},
        original_id=message.get("id"),
        original_role="user" if entries[0]["kind"] == "tool_result" else None,
        model=message.get("model"),
        stop_reason=message.get("stop_reason"),
        usage=message.get("usage"),
    )
    return entries


def user_entries(content: Any, tools: dict[str, str]) -> Iterator[JsonObject]:
    """Yield what a user's message says, and the results of tools in it."""
    if not isinstance(content, list):
        yield _spoken("user", content)
        return
    spoken: list[Any] = []
    for block in content:
        if not is_result(block):
            spoken.append(block)
            continue
        if spoken:
            yield _spoken("user", spoken)
            spoken = []
        yield _result(block, tools)
    if spoken or not content:
        yield _spoken("user", spoken)


def assistant_entries(content: Any, tools: dict[str, str]) -> Iterator[JsonObject]:
    """Yield what an answer says, thinks and calls, block by block; thinking also beside what comes after it."""
    if not isinstance(content, list) or not content:
        yield _spoken("assistant", content)
        return
    thoughts: list[JsonObject] = []
    for block in content:
        if is_thought(block):
            thought = block.get("thinking")
            thoughts.append(block)
            yield hidden(_block_entry("assistant", thought if isinstance(thought, str) else "", block, {"thinking"}))
            continue
        for entry in _answer_entries(block, tools):
            yield with_thoughts(entry, thoughts)
            thoughts = []


def is_thought(block: Any) -> bool:
    """Tell whether a block is thinking."""
    return isinstance(block, dict) and block.get("type") in {"thinking", "redacted_thinking"}


def with_thoughts(entry: JsonObject, thoughts: Sequence[JsonObject]) -> JsonObject:
    """Return the raw *entry* with the blocks of thinking before it, since a provider takes them back only there."""
    return {**entry, "data": {**(entry.get("data") or {}), THINKING: [*thoughts]}} if thoughts else entry


def _answer_entries(block: Any, tools: dict[str, str]) -> Iterator[JsonObject]:
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(kind, str) and kind.endswith("tool_use"):
        yield _call(block, tools)
    elif is_result(block):
        yield _result(block, tools)
    elif kind == "text" and isinstance(block.get("text"), str):
        yield _block_entry("assistant", block["text"], block, {"text"})
    else:
        yield _spoken("assistant", [block])


def _spoken(role: str, content: Any) -> JsonObject:
    text, whole = text_of(content)
    entry: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
    if not text.strip() or (whole is not None and not _is_plain(whole)):
        entry["data"] = {"content": content}
    return fitted(entry)


def _block_entry(role: str, text: str, block: JsonObject, known: set[str]) -> JsonObject:
    rest = {key: item for key, item in block.items() if key not in known | {"type"} and item is not None}
    blank = not text.strip()
    entry: JsonObject = {"kind": "message", "role": role, "content": f"[{block.get('type')}]" if blank else text}
    if rest or blank:
        entry["data"] = {"block": block if blank else rest}
    return fitted(entry)


def _call(block: JsonObject, tools: dict[str, str]) -> JsonObject:
    name = str(block.get("name") or "unknown")
    if isinstance(block.get("id"), str):
        tools[block["id"]] = name
    rest = {key: item for key, item in block.items() if key not in {"id", "name", "input"} and item is not None}
    entry: JsonObject = {
        "kind": "tool_call",
        "tool_name": name,
        "tool_call_id": block.get("id"),
        "arguments": block.get("input"),
        "data": None if rest == {"type": "tool_use"} else {"block": rest},
    }
    if len(canonical_json(entry["arguments"])) > CONTENT_BYTES // 2:
        entry["content"] = f"{name}(…)"
    return entry


def _without_bytes(value: Any) -> Any:
    """Return the object that a tool gave without what it has in base64, such as a PDF that was fetched."""
    if isinstance(value, list):
        return [_without_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "…" if key == "data" and value.get("type") == "base64" else _without_bytes(item)
        for key, item in value.items()
    }


def _result(block: JsonObject, tools: dict[str, str]) -> JsonObject:
    whole = block.get("content")
    text, _ = text_of(_without_bytes(whole) if isinstance(whole, dict) else whole)
    call_id, failed = block.get("tool_use_id"), block.get("is_error")
    known = {"tool_use_id", "content", "is_error"}
    rest = {key: item for key, item in block.items() if key not in known and item is not None}
    data: JsonObject = {} if rest == {"type": "tool_result"} else {"block": rest}
    if not isinstance(whole, str | None) and not _is_plain(whole):
        data["content"] = whole
    return fitted(
        {
            "kind": "tool_result",
            "tool_name": tools.get(call_id) if isinstance(call_id, str) else None,
            "tool_call_id": call_id,
            "content": text,
            "tool_status": {True: "error", False: "ok"}.get(failed) if isinstance(failed, bool) else None,
            "data": data or None,
        }
    )


def is_result(block: Any) -> bool:
    """Tell whether a block is the result of a tool."""
    return isinstance(block, dict) and str(block.get("type")).endswith("tool_result")


def _is_plain(content: Any) -> bool:
    """Tell whether *content* is only texts, which the entry's own text says in full."""
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] == "text" for block in content
    )
