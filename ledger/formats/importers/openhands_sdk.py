"""Events of the OpenHands agent SDK (V1): JSON Lines, a list, or a page of them. Source: adapters IN-23."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    arguments_of,
    conversation,
    entry_id_of,
    moment,
    shaped,
    text_of,
    with_leftovers,
)
from ledger.formats.importers.elements.openhands_view import OpenHandsView
from ledger.formats.importers.elements.steps import EMPTY, WindowChange, hidden
from projections.entries import REASONING, REASONING_CONTENT, THINKING

FORMAT: Final = "openhands-sdk"
_EVENT: Final = {"id", "kind", "source", "timestamp"}
_KNOWN: Final = {*_EVENT, "parent_id", "llm_response_id"}
_MESSAGE: Final = {"role", "content", "thinking_blocks", "reasoning_content", "responses_reasoning_item"}
#: How the program names the files in its folder, of one event each.
_FILE: Final = re.compile(r".*event-\d{5,}-[0-9a-fA-F-]{8,}")


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document is an event, a list of events, or a page of them."""
    events = _events_of(found[0].value)
    return bool(events) and all(map(_is_event, events[:3]))


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield one conversation, of all events of the file."""
    first, second = next(found), next(found, None)
    if second is None and _is_event(first.value) and _FILE.fullmatch(name):
        text = "is one event of a conversation; join its files into one: `jq -c . events/*.json > conversation.jsonl`"
        raise ImportRefused("one_event", text, line=first.line)
    every = chain([first], [] if second is None else [second], found)
    events = ((document.line, event) for document in every for event in _events_of(document.value))
    yield conversation(FORMAT, name, _messages(events, name))


def _events_of(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return list(value["items"])
    return value if isinstance(value, list) else [value]


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in _EVENT)


def _messages(
    events: Iterable[tuple[int, Any]], session_id: str
) -> Iterator[tuple[int, list[JsonObject] | WindowChange]]:
    view = OpenHandsView(session_id)
    for number, (line, event) in enumerate(events):
        where = f"{session_id}, event {number}"
        if not _is_event(event):
            raise ImportRefused("bad_shape", f"{where} must have an id, a kind, a source and a time", line=line)
        with shaped(where, line=line):
            entries = _entries(event)
            changes, entries[-1] = view.take(event, entries[-1], line)
        entries[-1] = _with_rest(entries[-1], event)
        for part, entry in enumerate(entries):
            entry["created_at"] = moment(event["timestamp"])
            entry["entry_id"] = entry_id_of(session_id, [number, part], entry)
        view.show(event["id"], entries)
        for change in changes:
            yield line, change
        yield line, entries


def _entries(event: JsonObject) -> list[JsonObject]:
    """Return the entries of *event*; what the model never gets is hidden."""
    match event["kind"]:
        case "SystemPromptEvent":
            prompts = [event["system_prompt"], event.get("dynamic_context")]
            return [_spoken("system", _parts([prompt for prompt in prompts if prompt]))]
        case "MessageEvent":
            return _message(event["llm_message"], _parts(event.get("extended_content") or []))
        case "ActionEvent":
            return _action(event)
        case "ObservationEvent":
            return [_observation(event)]
        case "UserRejectObservation":
            return [_result(event, f"Action rejected: {event['rejection_reason']}", None)]
        case "AgentErrorEvent":
            return [_result(event, str(event["error"]), "error")]
        case kind:
            return [hidden({"kind": "context", "content": f"[{kind}]"}, kind)]


_SHOWN: Final[Mapping[str, set[str]]] = {
    "SystemPromptEvent": {"system_prompt", "dynamic_context"},
    "MessageEvent": {"llm_message", "extended_content"},
    "ActionEvent": {"thought", "tool_name", "tool_call_id", "tool_call", "thinking_blocks", "reasoning_content"}
    | {"responses_reasoning_item"},
    "ObservationEvent": {"tool_name", "tool_call_id", "observation", "extended_content"},
    "UserRejectObservation": {"tool_name", "tool_call_id"},
    "AgentErrorEvent": {"tool_name", "tool_call_id", "error"},
}


def _with_rest(entry: JsonObject, event: JsonObject) -> JsonObject:
    return with_leftovers(
        entry,
        event,
        _KNOWN | _SHOWN.get(event["kind"], set()),
        original_id=event["id"],
        original_timestamp=event["timestamp"],
        event_kind=event["kind"],
        parent_id=event.get("parent_id"),
        response_id=event.get("llm_response_id"),
        source_of_event=event["source"],
    )


def _message(message: JsonObject, added: Sequence[JsonObject]) -> list[JsonObject]:
    role = message["role"]
    entry = _spoken(role, [*_parts(message.get("content") or []), *added])
    if role == "assistant":
        entry = _with_thinking(entry, message, _item_of(entry["content"]))
    return [with_leftovers(entry, message, _MESSAGE)]


def _action(event: JsonObject) -> list[JsonObject]:
    call = event["tool_call"]
    arguments, raw = arguments_of(call.get("arguments"))
    entry: JsonObject = {
        "kind": "tool_call",
        "tool_name": call.get("name") or event["tool_name"],
        "tool_call_id": event["tool_call_id"],
        "arguments": arguments,
        "data": None if raw is None else {"arguments": raw},
    }
    known = {"id", "name", "arguments", "responses_item_id"}
    entry = with_leftovers(entry, call, known, item_id=call.get("responses_item_id"))
    thought = [part for part in _parts(event.get("thought") or []) if str(part.get("text") or "").strip()]
    if thought:
        message = _spoken("assistant", thought)
        return [_with_thinking(message, event, _item_of(message["content"])), entry]
    item = {"type": "function_call", "call_id": event["tool_call_id"], "name": entry["tool_name"]}
    return [_with_thinking(entry, event, {**item, "arguments": str(call.get("arguments") or "{}")})]


def _observation(event: JsonObject) -> JsonObject:
    observation = event["observation"]
    parts = [*_parts(observation.get("content") or []), *_parts(event.get("extended_content") or [])]
    text, whole = text_of(parts)
    status = {True: "error", False: "ok"}.get(observation.get("is_error"))
    rest = {
        key: field for key, field in observation.items() if key not in {"content", "is_error"} and field is not None
    }
    result = _result(event, text, status)
    data = {**({} if _is_plain(parts) else {"content": whole}), **({"observation": rest} if rest else {})}
    return {**result, "data": data or None}


def _result(event: JsonObject, text: str, status: str | None) -> JsonObject:
    return {
        "kind": "tool_result",
        "tool_call_id": event["tool_call_id"],
        "tool_name": event["tool_name"],
        "content": text,
        "tool_status": status,
    }


def _parts(content: str | Sequence[JsonObject]) -> list[JsonObject]:
    """Return the parts of a content, images one by one, as the program sends them; flags that are off are left out."""
    found: list[JsonObject] = []
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        urls = part.get("image_urls") if part.get("type") == "image" else None
        more = {key: field for key, field in part.items() if key not in {"image_urls", "type", "text"} and field}
        texts = [{"type": "text", "text": part["text"]}] if "text" in part else [{"type": str(part.get("type"))}]
        images = [{"type": "image_url", "image_url": {"url": url}} for url in urls or ()]
        found += [{**each, **more} for each in (texts if urls is None else images)]
    return found


def _spoken(role: str, parts: Sequence[JsonObject]) -> JsonObject:
    text, whole = text_of([*parts])
    entry: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
    return entry if _is_plain(parts) else {**entry, "data": {"content": whole}}


def _is_plain(parts: Sequence[JsonObject]) -> bool:
    return all(part.get("type") == "text" and part.keys() == {"type", "text"} for part in parts)


def _item_of(text: str) -> JsonObject:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def _with_thinking(entry: JsonObject, holder: JsonObject, item: JsonObject) -> JsonObject:
    """Return *entry* with what the model thought before it, in the shape of each provider that may take it back."""
    beside: JsonObject = {}
    if holder.get("thinking_blocks"):
        beside[THINKING] = holder["thinking_blocks"]
    if holder.get("reasoning_content"):
        beside[REASONING_CONTENT] = holder["reasoning_content"]
    reasoning = holder.get("responses_reasoning_item")
    if reasoning:
        summary = [{"type": "summary_text", "text": text} for text in reasoning.get("summary") or ()]
        content = [{"type": "reasoning_text", "text": text} for text in reasoning.get("content") or ()]
        more = {
            key: field for key, field in reasoning.items() if key not in {"summary", "content"} and field is not None
        }
        thought = {"type": "reasoning", "summary": summary, **({"content": content} if content else {}), **more}
        beside |= {"item": item, REASONING: [thought]}
    return {**entry, "data": {**(entry.get("data") or {}), **beside}} if beside else entry


IMPORTER: Final = Importer(FORMAT, detects, read)
