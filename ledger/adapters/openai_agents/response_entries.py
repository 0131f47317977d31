"""Items of the OpenAI Responses API as entries, and back. Source: adapters AD-5, OA-3."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.adapters.large_items import LargeValues, item_draft_or_plain
from ledger.adapters.openai_agents.agent_runs import RunFacts
from ledger.adapters.packed_items import unpacked
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.formats.importers.elements.damaged import clean
from ledger.formats.importers.elements.importer import arguments_of
from ledger.formats.importers.elements.steps import HIDDEN
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry

SDK: Final = "openai-agents"
#: Of what is written without a run.
OUTSIDE: Final = RunFacts()
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_CALLS: Final = frozenset({"function_call", "custom_tool_call"})


def drafts_of(items: Sequence[Mapping[str, Any]], large: LargeValues, run: RunFacts = OUTSIDE) -> list[EntryDraft]:
    """Return one entry for each of *items*: its text, call or result, who wrote it, and the whole item in its data.

    What is too large for an entry goes into *large*.

    Raises:
        InvalidInput: ``too_large``: together they are over the limit of a write; ``wrong_type``: one is no object.
            *field* says at which item.
    """
    names: dict[str, str] = {}
    places = [(item, f"items[{at}]") for at, item in enumerate(items)]
    return [_draft(_object(item, field), names, run, large, field) for item, field in places]


def item_of(entry: Entry) -> JsonObject:
    """Return the item of *entry* with its current text; of another writer's entry, one made of its fields."""
    item = unpacked(SDK, entry)
    if item is not None:
        return item
    if entry.kind == "tool_call":
        arguments = json.dumps(entry.arguments if entry.arguments is not None else {})
        call_id = entry.tool_call_id or entry.entry_id
        return {"type": "function_call", "call_id": call_id, "name": entry.tool_name, "arguments": arguments}
    if entry.kind == "tool_result" and entry.tool_call_id is not None:
        return {"type": "function_call_output", "call_id": entry.tool_call_id, "output": entry.content}
    role = entry.role if entry.role in _ROLES else "user"
    return {"role": role, "content": entry.content}


def _object(item: Any, field: str) -> JsonObject:
    try:
        return dict(item)
    except (TypeError, ValueError):
        message = "must be an object, such as those that `to_input_list()` of a result returns"
        raise InvalidInput("wrong_type", message, field=field) from None


def _draft(item: JsonObject, names: dict[str, str], run: RunFacts, large: LargeValues, field: str) -> EntryDraft:
    derived, of_agent = _derived(clean(item), names), run.of(item)
    if of_agent:
        derived["metadata"] = {**derived.get("metadata", {}), **clean(of_agent)}
    plain = {"kind": "message", "role": "assistant", "content": _named(clean(item))}
    return item_draft_or_plain(SDK, item, derived, plain, large, field=field)


def _derived(item: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return the fields of the entry of an item, whatever is in it."""
    kind, call_id = item.get("type"), item.get("call_id") or item.get("id")
    if isinstance(kind, str) and kind in _CALLS and isinstance(item.get("name"), str) and isinstance(call_id, str):
        names[call_id] = item["name"]
        arguments, _ = arguments_of(item.get("arguments", item.get("input")))
        return {
            "kind": "tool_call",
            "role": "assistant",
            "tool_name": item["name"],
            "tool_call_id": call_id,
            "arguments": arguments,
            "content": f"{item['name']}({item.get('arguments', item.get('input')) or ''})",
        }
    if kind == "mcp_call" and isinstance(item.get("name"), str):  # its result is in it
        asked = f"{item['name']}({item.get('arguments') or ''})"
        return {"kind": "message", "role": "assistant", "content": asked}
    if isinstance(kind, str) and kind.endswith("_output") and isinstance(item.get("call_id"), str):
        text = _text(item.get("output")) or _named(item)
        result = {"kind": "tool_result", "tool_call_id": item["call_id"], "content": text}
        return {**result, "tool_name": names[item["call_id"]]} if item["call_id"] in names else result
    role = _ROLES.get(item["role"]) if isinstance(item.get("role"), str) else None
    if role is not None:
        return {"kind": "message", "role": role, "content": _text(item.get("content")) or _named(item)}
    if kind == "reasoning":
        text = _text(item.get("summary")) or _text(item.get("content")) or _named(item)
        return {"kind": "message", "role": "assistant", "content": text, "metadata": {HIDDEN: True}}
    return {"kind": "message", "role": "assistant", "content": _named(item)}


def _text(content: Any) -> str:
    """Return the text of a string or of the parts in a list; empty if it is blank."""
    if isinstance(content, str):
        return content if content.strip() else ""
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") if isinstance(part, dict) else None for part in content]
    types = [str(part.get("type")) if isinstance(part, dict) else "part" for part in content]
    text = "\n".join(part if isinstance(part, str) else f"[{kind}]" for part, kind in zip(parts, types, strict=True))
    return text if text.strip() else ""


def _named(item: JsonObject) -> str:
    return f"[{str(item.get('type') or item.get('role') or 'item')[:100]}]"
