"""Events of Google ADK as entries, and back. Source: adapters AD-5, AD-12, GA-1."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from ledger.adapters.large_items import LargeValues, item_draft_or_plain
from ledger.adapters.packed_items import unpacked
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.formats.importers.elements.damaged import clean
from ledger.formats.importers.elements.importer import moment
from ledger.formats.importers.elements.steps import HIDDEN
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry

SDK: Final = "google-adk"


def json_event(event: BaseModel) -> JsonObject:
    """Return an event of the SDK as JSON, without the fields that it does not have.

    Raises:
        InvalidInput: ``wrong_type``: it is no JSON.
    """
    try:
        return event.model_dump(mode="json", exclude_none=True)
    except (PydanticSerializationError, ValueError) as fault:
        raise InvalidInput("wrong_type", f"must be JSON: {fault}", field="event") from fault


def draft_of(event: JsonObject, large: LargeValues) -> EntryDraft:
    """Return the entry of an *event*: its text, first call or first result, and the whole event in its data.

    What is too large for an entry goes into *large*.

    Raises:
        InvalidInput: ``too_large``: the event is over the limit of a write.
    """
    shown = clean(event)
    derived = _derived(shown)
    own: JsonObject = {"created_at": moment(event.get("timestamp")), "metadata": _metadata(shown, derived)}
    plain = {"kind": "context", "content": "[event]", "created_at": own["created_at"]}
    return item_draft_or_plain(SDK, event, {**derived, **own}, plain, large, field="event")


def event_of(entry: Entry) -> JsonObject:
    """Return the event of *entry* with its current text; of another writer's entry, one made of its fields."""
    event = unpacked(SDK, entry)
    if event is not None:
        return event
    part: JsonObject = {"text": entry.content}
    if entry.kind == "tool_call":
        arguments = _object(entry.arguments, "arguments")
        part = {"function_call": {"id": entry.tool_call_id, "name": entry.tool_name, "args": arguments}}
    elif entry.kind == "tool_result":
        answer = {"result": entry.content}
        part = {"function_response": {"id": entry.tool_call_id, "name": entry.tool_name, "response": answer}}
    role = "model" if entry.role == "assistant" else "user"
    return {
        "id": entry.entry_id,
        "author": "user" if entry.role in {"user", "system"} else str((entry.metadata or {}).get("agent", "assistant")),
        "timestamp": entry.created_at.timestamp(),
        "content": {"role": role, "parts": [part]},
    }


def _derived(event: JsonObject) -> JsonObject:
    """Return the fields of the one entry of an event."""
    parts = _parts(event)
    texts = [part["text"] for part in parts if _is_text(part) and not part.get("thought")]
    calls = [part["function_call"] for part in parts if isinstance(part.get("function_call"), dict)]
    results = [part["function_response"] for part in parts if isinstance(part.get("function_response"), dict)]
    if calls and calls[0].get("name"):
        return {
            "kind": "tool_call",
            "tool_name": calls[0]["name"],
            "tool_call_id": calls[0].get("id"),
            "arguments": calls[0].get("args") or {},
            "content": "\n".join([*texts, *map(_called, calls)]),
        }
    if results:
        return {
            "kind": "tool_result",
            "tool_name": results[0].get("name"),
            "tool_call_id": results[0].get("id"),
            "tool_status": "error" if "error" in (results[0].get("response") or {}) else None,
            "content": "\n".join([*texts, *map(_result, results)]),
        }
    role = "user" if event.get("author") == "user" else "assistant"
    if texts:
        return {"kind": "message", "role": role, "content": "".join(texts)}
    if parts:
        thoughts = [part["text"] for part in parts if _is_text(part)]
        return {"kind": "message", "role": role, "content": "".join(thoughts) or _types(parts)}
    return {"kind": "context", "content": _text_of(event)}


def _parts(event: JsonObject) -> list[JsonObject]:
    content = event.get("content") or ((event.get("actions") or {}).get("compaction") or {}).get("compacted_content")
    return [part for part in (content or {}).get("parts") or () if isinstance(part, dict)]


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and bool(part["text"].strip())


def _types(parts: Sequence[JsonObject]) -> str:
    """Return what parts without text are, such as ``[inline_data]``."""
    names = [name for part in parts for name, value in part.items() if isinstance(value, dict | str)]
    return " ".join(f"[{name}]" for name in names) or "[part]"


def _called(call: Mapping[str, Any]) -> str:
    return f"{call.get('name')}({json.dumps(call.get('args') or {}, ensure_ascii=False)})"


def _result(response: Mapping[str, Any]) -> str:
    answer = response.get("response")
    if isinstance(answer, dict) and len(answer) == 1 and isinstance(answer.get("result"), str):
        return str(answer["result"])
    return json.dumps(answer, ensure_ascii=False)


def _text_of(event: JsonObject) -> str:
    """Return a word for an event without content: its error, or what it does."""
    if event.get("error_message") or event.get("error_code"):
        return f"[error] {event.get('error_message') or event['error_code']}"
    actions = event.get("actions") or {}
    names = [name for name, value in actions.items() if value]
    return " ".join(f"[{name}]" for name in names) or "[event]"


def _metadata(event: JsonObject, derived: JsonObject) -> JsonObject:
    parts = _parts(event)
    is_hidden = derived["kind"] == "context" or (bool(parts) and all(part.get("thought") for part in parts))
    found = {
        "agent": event.get("author"),
        "run_id": event.get("invocation_id"),
        "branch": event.get("branch"),
        "handoff_to": (event.get("actions") or {}).get("transfer_to_agent"),
        HIDDEN: is_hidden,
    }
    return {name: value for name, value in found.items() if value}


def _object(value: Any, name: str) -> JsonObject:
    return value if isinstance(value, dict) else {} if value is None else {name: value}
