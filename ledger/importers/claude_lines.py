"""Lines of Claude Code transcripts, and the content blocks of Anthropic messages, as entries. Source: adapters IN-4."""

from collections.abc import Iterator
from typing import Any, Final

from ledger.canonical import canonical_json
from ledger.events import JsonObject
from ledger.importers.base import EMPTY, moment, text_of, with_leftovers
from ledger.importers.steps import hidden
from ledger.limits import CONTENT_BYTES
from ledger.names import is_entry_id

#: The fields of a line that become fields of its entries.
_KNOWN: Final = {"type", "uuid", "timestamp", "parentUuid", "message"}
_KNOWN_OF_MESSAGE: Final = {"role", "content", "id", "type", "model", "stop_reason", "usage"}
_CUT: Final = CONTENT_BYTES // 8  # of a text that is too long to be content


def is_summary(value: JsonObject) -> bool:
    """Tell whether a line has the summary that a compaction wrote."""
    return value.get("isCompactSummary") is True and isinstance(value.get("message"), dict)


def is_prompt(value: JsonObject) -> bool:
    """Tell whether a line is what the user said, neither a tool's result nor written by the program."""
    message = value.get("message")
    if value.get("type") != "user" or value.get("isMeta") is True or not isinstance(message, dict):
        return False
    content = message.get("content")
    return isinstance(content, str) or (isinstance(content, list) and not any(map(_is_result, content)))


def message_id_of(value: JsonObject) -> str | None:
    """Return the id of the answer that a line is part of; None if it is part of none."""
    message = value.get("message")
    found = message.get("id") if value.get("type") == "assistant" and isinstance(message, dict) else None
    return found if isinstance(found, str) else None


def entries_of(value: JsonObject, tools: dict[str, str], *, repeated: bool = False) -> list[JsonObject]:
    """Return the raw entries of a line, at least one; the names of called tools go into *tools*.

    The first has the line's uuid as its id. A line that is no message becomes one that no window shows, as does a
    *repeated* one.
    """
    message, line_type = value.get("message"), str(value.get("type") or "line")
    known = _KNOWN
    if repeated or line_type not in {"user", "assistant"} or not isinstance(message, dict):
        entries = [_other(value, f"repeated {line_type}" if repeated else line_type)]
        known = {"type", "uuid", "timestamp", "parentUuid", "content" if _said(value) else ""}
        message = {}
    elif is_summary(value):
        entries = [hidden({"kind": "context", "content": "[summary]"})]
    elif line_type == "user":
        entries = list(user_entries(message.get("content"), tools))
    else:
        entries = list(assistant_entries(message.get("content"), tools))
    created_at, uuid = moment(value.get("timestamp")), value.get("uuid")
    named = isinstance(uuid, str) and is_entry_id(f"{uuid}-9999") and not repeated
    for number, entry in enumerate(entries, start=1):
        entry["created_at"] = created_at
        entry["entry_id"] = (uuid if number == 1 else f"{uuid}-{number}") if named else None
    rest = {key: item for key, item in message.items() if key not in _KNOWN_OF_MESSAGE and item is not None}
    if rest:
        entries[0] = {**entries[0], "data": {**(entries[0].get("data") or {}), "message": rest}}
    entries[0] = with_leftovers(
        entries[0],
        value,
        known,
        original_id=uuid,
        original_timestamp=value.get("timestamp"),
        parent_id=value.get("parentUuid"),
        message_id=message.get("id"),
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
    said: list[Any] = []
    for block in content:
        if not _is_result(block):
            said.append(block)
            continue
        if said:
            yield _spoken("user", said)
            said = []
        yield _result(block, tools)
    if said or not content:
        yield _spoken("user", said)


def assistant_entries(content: Any, tools: dict[str, str]) -> Iterator[JsonObject]:
    """Yield what an answer says, thinks and calls, block by block."""
    if not isinstance(content, list) or not content:
        yield _spoken("assistant", content)
        return
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in {"thinking", "redacted_thinking"}:
            thought = block.get("thinking")
            yield hidden(_block_entry("assistant", thought if isinstance(thought, str) else "", block, {"thinking"}))
        elif isinstance(kind, str) and kind.endswith("tool_use"):
            yield _call(block, tools)
        elif _is_result(block):
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
    return _fitted(entry)


def _block_entry(role: str, text: str, block: JsonObject, known: set[str]) -> JsonObject:
    rest = {key: item for key, item in block.items() if key not in known | {"type"} and item is not None}
    blank = not text.strip()
    entry: JsonObject = {"kind": "message", "role": role, "content": f"[{block.get('type')}]" if blank else text}
    if rest or blank:
        entry["data"] = {"block": block if blank else rest}
    return _fitted(entry)


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


def _result(block: JsonObject, tools: dict[str, str]) -> JsonObject:
    text, whole = text_of(block.get("content"))
    call_id, failed = block.get("tool_use_id"), block.get("is_error")
    known = {"tool_use_id", "content", "is_error"}
    rest = {key: item for key, item in block.items() if key not in known and item is not None}
    data: JsonObject = {} if rest == {"type": "tool_result"} else {"block": rest}
    if whole is not None and not _is_plain(whole):
        data["content"] = whole
    return _fitted(
        {
            "kind": "tool_result",
            "tool_name": tools.get(call_id) if isinstance(call_id, str) else None,
            "tool_call_id": call_id,
            "content": text,
            "tool_status": {True: "error", False: "ok"}.get(failed) if isinstance(failed, bool) else None,
            "data": data or None,
        }
    )


def _other(value: JsonObject, line_type: str) -> JsonObject:
    said = _said(value)
    return hidden(_fitted({"kind": "context", "content": said or f"[{line_type}]"}), line_type)


def _said(value: JsonObject) -> str | None:
    """Return the text of a line that is no message, if it has one."""
    text = value.get("content")
    return text if isinstance(text, str) and text.strip() else None


def _fitted(entry: JsonObject) -> JsonObject:
    """Return *entry* with the beginning of a text that is too long, and the whole in its data."""
    text = entry["content"]
    if len(text) * 4 <= CONTENT_BYTES or len(text.encode()) <= CONTENT_BYTES:
        return entry
    return {**entry, "content": f"{text[:_CUT]}…", "data": {**(entry.get("data") or {}), "text": text}}


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and str(block.get("type")).endswith("tool_result")


def _is_plain(content: Any) -> bool:
    """Tell whether *content* is only texts, which the entry's own text says in full."""
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] == "text" for block in content
    )
