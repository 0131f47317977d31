"""Lines of Claude Code transcripts as entries. Source: adapters IN-4."""

from collections.abc import Sequence
from typing import Any, Final

from ledger.events import JsonObject
from ledger.events.names import is_entry_id
from ledger.formats.importers.elements.blocks import (
    assistant_entries,
    is_result,
    is_thought,
    user_entries,
    with_thoughts,
)
from ledger.formats.importers.elements.fitting import fitted
from ledger.formats.importers.elements.importer import moment, with_leftovers
from ledger.formats.importers.elements.steps import HIDDEN, hidden

#: The fields of a line that become fields of its entries.
_KNOWN: Final = {"type", "uuid", "timestamp", "parentUuid", "message"}
#: Subtypes of lines that begin a compaction, or say that results of tools were cleared.
BOUNDARIES: Final = frozenset({"compact_boundary", "microcompact_boundary"})
_KNOWN_OF_MESSAGE: Final = {"role", "content", "id", "type", "model", "stop_reason", "usage"}


def field_of(value: Any, name: str) -> str | None:
    """Return the text in a field of a line; None if it has none."""
    field = value.get(name) if isinstance(value, dict) else None
    return field if isinstance(field, str) and field else None


def is_summary(value: JsonObject) -> bool:
    """Tell whether a line has the summary that a compaction wrote."""
    return value.get("isCompactSummary") is True and isinstance(value.get("message"), dict)


def changes_window(value: JsonObject) -> bool:
    """Tell whether a line that is no prompt changes what the agent sends of others."""
    if is_summary(value) or value.get("type") == "content-replacement":
        return True
    return value.get("subtype") in BOUNDARIES or isinstance(value.get("snipMetadata"), dict)


def is_prompt(value: JsonObject) -> bool:
    """Tell whether a line is what the user said, neither a tool's result nor written by the program."""
    message = value.get("message")
    if value.get("type") != "user" or value.get("isMeta") is True or not isinstance(message, dict):
        return False
    return isinstance(message.get("content"), str | list) and not has_results(value)


def has_results(value: JsonObject) -> bool:
    """Tell whether a line has results of tools."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(map(is_result, content))


def left_by(metadata: Any, summary: str, order: Sequence[str]) -> tuple[list[str], bool, bool]:
    """Return the lines that a compaction kept, whether its summary follows them, and whether all are known.

    *order* has the lines before it, oldest first, and *summary* is the line of the summary. A list of lines goes
    before the first and last of a segment, which it replaced.
    """
    named, segment = metadata.get("preservedMessages"), metadata.get("preservedSegment")
    anchor = (named or segment or {}).get("anchorUuid")
    follows = anchor is not None and anchor != summary
    if named:
        return list(dict.fromkeys(named.get("allUuids") or named.get("uuids") or ())), follows, True
    if segment:
        head, tail = segment.get("headUuid"), segment.get("tailUuid")
        if head in order and tail in order and order.index(head) <= order.index(tail):
            return list(order[order.index(head) : order.index(tail) + 1]), follows, True
        return [], follows, False
    return [], False, True


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
        known = {"type", "uuid", "timestamp", "parentUuid", "content" if _text_of_system_line(value) else ""}
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


def after_thoughts(
    entries: list[JsonObject], value: JsonObject, before: list[JsonObject]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the *entries* of a line with the thinking *before* it in its answer, and the thinking before the next."""
    content = value["message"].get("content") if message_id_of(value) is not None else None
    blocks = content if isinstance(content, list) else []
    if blocks and all(map(is_thought, blocks)):
        return entries, [*before, *blocks]
    first = next((at for at, entry in enumerate(entries) if not (entry.get("metadata") or {}).get(HIDDEN)), None)
    if first is None or not before:
        return entries, before
    return [*entries[:first], with_thoughts(entries[first], before), *entries[first + 1 :]], []


def _other(value: JsonObject, line_type: str) -> JsonObject:
    text = _text_of_system_line(value)
    return hidden(fitted({"kind": "context", "content": text or f"[{line_type}]"}), line_type)


def _text_of_system_line(value: JsonObject) -> str | None:
    """Return the text of a line that is no message, if it has one."""
    text = value.get("content")
    return text if isinstance(text, str) and text.strip() else None
