"""Lines of the Claude Agent SDK as entries, and back. Source: adapters AD-5, CL-2, CL-3."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.importers.base import moment
from ledger.importers.claude_lines import entries_of
from ledger.importers.damaged import clean
from ledger.importers.steps import HIDDEN
from ledger.names import is_entry_id
from ledger.session.drafts import EntryDraft, draft_entry
from ledger.strict_json import check_value
from projections.entries import Entry

SDK: Final = "claude-agent-sdk"
_DERIVED: Final = ("kind", "role", "content", "tool_name", "tool_call_id", "tool_status", "arguments")


def draft_of(line: Mapping[str, Any]) -> EntryDraft:
    """Return the entry of a transcript *line*: its text, call or result, and the whole line in its data.

    Raises:
        InvalidInput: the line is over a limit.
    """
    item, uuid = dict(line), line.get("uuid")
    own: JsonObject = {
        "entry_id": uuid if isinstance(uuid, str) and is_entry_id(uuid) else None,
        "created_at": moment(line.get("timestamp")),
    }
    derived = _derived(clean(item))
    try:
        return draft_entry({**own, **derived, "data": _packed(item, derived["content"])})
    except InvalidInput:  # a field has a type, or a size, that none of an entry may have
        plain = {"kind": "context", "content": f"[{clean(str(line.get('type')))[:100]}]"}
        return draft_entry({**own, **plain, "data": _packed(item, "")})


def line_of(entry: Entry) -> JsonObject:
    """Return the line of *entry* with its current text; of another writer's entry, one made of its fields."""
    data = entry.data
    if not isinstance(data, dict) or data.get("sdk") != SDK:
        spoken = "assistant" if entry.role in {"assistant", "tool"} else "user"
        message = {"role": spoken, "content": entry.content}
        return {
            "type": spoken,
            "uuid": entry.entry_id,
            "timestamp": entry.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "message": message,
        }
    if "json" in data:
        return dict(json.loads(data["json"]))
    item = data["item"]
    return dict(_with(item, data["at"], entry.content)) if "at" in data else dict(item)


def _derived(item: JsonObject) -> JsonObject:
    """Return the fields of the one entry of a line."""
    try:
        parts = entries_of(item, {})
    except (AttributeError, KeyError, TypeError):
        parts = []
    shown = [part for part in parts if not (part.get("metadata") or {}).get(HIDDEN)] or parts
    if len(shown) == 1:
        found = {name: shown[0][name] for name in _DERIVED if shown[0].get(name) is not None}
        if found["kind"] == "tool_call":
            found.setdefault("content", f"{found['tool_name']}(…)")
    else:
        texts = [str(part.get("content") or f"[{part.get('tool_name')}]") for part in shown]
        role = "assistant" if item.get("type") == "assistant" else "user"
        found = {"kind": "message", "role": role, "content": "\n".join(texts) or f"[{item.get('type')}]"}
    if shown and (shown[0].get("metadata") or {}).get(HIDDEN):
        found["metadata"] = {HIDDEN: True}
    return found


def _packed(item: JsonObject, content: str) -> JsonObject:
    """Return *item* as data, without the entry's own text; as ASCII text if the data of an entry cannot hold it."""
    data: JsonObject = {"sdk": SDK, "v": 1, "item": item}
    try:
        check_value(data, field="data")
    except InvalidInput:
        return {"sdk": SDK, "v": 1, "json": json.dumps(item)}
    at = _place(item, content) if content else None
    return data if at is None else {**data, "item": _with(item, at, None), "at": at}


def _place(value: Any, text: str) -> list[str | int] | None:
    """Return the way to the first string in *value* that equals *text*."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if item == text and isinstance(item, str):
            return [key]
        below = _place(item, text)
        if below is not None:
            return [key, *below]
    return None


def _with(value: Any, at: list[str | int], text: str | None) -> Any:
    """Return a copy of *value* with *text* at a place."""
    if not at:
        return text
    changed: Any = list(value) if isinstance(value, list) else dict(value)
    changed[at[0]] = _with(changed[at[0]], at[1:], text)
    return changed
