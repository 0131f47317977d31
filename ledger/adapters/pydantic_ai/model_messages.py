"""Messages of Pydantic AI as entries, one for each part, and back. Source: adapters AD-5, PY-1."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from ledger.adapters.large_items import LargeValues, item_draft_or_plain
from ledger.adapters.packed_items import unpacked
from ledger.events import JsonObject
from ledger.formats.importers.elements.damaged import clean
from ledger.formats.importers.elements.importer import arguments_of
from ledger.formats.importers.elements.steps import HIDDEN
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry

SDK: Final = "pydantic-ai"
_SPOKEN: Final = {
    "user-prompt": "user",
    "retry-feedback": "user",
    "retry-prompt": "user",
    "tool-return": "user",  # without an id of its call: never the system's words
    "text": "assistant",
}
_CALLS: Final = frozenset({"tool-call", "builtin-tool-call"})
_RESULTS: Final = frozenset({"tool-return", "builtin-tool-return", "retry-prompt"})
_TEXT: Final = "text-content"
_OF_SDK: Final = frozenset(
    {"binary", "image-url", "audio-url", "document-url", "video-url", "uploaded-file", "cache-point", _TEXT}
)


def drafts_of(
    messages: Sequence[ModelMessage], large: LargeValues, *, recording: str, first: int, metadata: JsonObject
) -> list[EntryDraft]:
    """Return an entry for each part of *messages*, the message itself in the data of its first one.

    *recording* and the number of a message in it, from *first*, name the entries: added again, they are known. What is
    too large for an entry goes into *large*.

    Raises:
        InvalidInput: ``too_large``: together they are over the limit of a write; *field* says at which part.
    """
    drafts = []
    for number, message in enumerate(map(dumped, messages), first):
        envelope = {name: value for name, value in message.items() if name != "parts"}
        if "usage" in envelope:  # 0.0 is no canonical JSON, and what is left out is read as nothing
            envelope["usage"] = {name: value for name, value in envelope["usage"].items() if value}
        for at, part in enumerate(message["parts"] or [None]):
            item = {"part": part, "kind": message["kind"], "of": f"{recording}.{number}"}
            if not at:
                item["message"] = envelope
            own = {"entry_id": f"{recording}.{number}.{at}", "metadata": metadata}
            drafts.append(_draft(item, own, large, f"messages[{number}].parts[{at}]"))
    return drafts


def messages_of(entries: Sequence[Entry]) -> list[ModelMessage]:
    """Return the messages of *entries* with their current texts; those of one run follow each other.

    Runs are in the order of their first messages. An entry of another writer is a message made from its fields.
    """
    runs: dict[str, list[JsonObject]] = {}
    for recording, message in _messages(entries):
        runs.setdefault(recording, []).append(message)
    found = ModelMessagesTypeAdapter.validate_python([message for run in runs.values() for message in run])
    return [message for message, after in zip_longest(found, found[1:]) if not _is_resumed(message, after)]


def dumped(message: ModelMessage) -> JsonObject:
    """Return the JSON of *message*."""
    return dict(ModelMessagesTypeAdapter.dump_python([message], mode="json")[0])


def _is_resumed(message: ModelMessage, after: ModelMessage | None) -> bool:
    """Tell whether *message* is an answer that the provider paused; the one *after* it has all of it."""
    paused = isinstance(message, ModelResponse) and message.state == "suspended"
    return paused and isinstance(after, ModelResponse)


def _messages(entries: Sequence[Entry]) -> Iterator[tuple[str, JsonObject]]:
    """Yield each message as JSON, and the recording that it is of."""
    items = [(entry, unpacked(SDK, entry)) for entry in entries]
    for key, group in groupby(items, key=lambda pair: pair[0].entry_id if pair[1] is None else pair[1]["of"]):
        found = list(group)
        parts = [item for _, item in found if item is not None]
        if not parts:
            yield key, _made_of(found[0][0])
            continue
        envelope = parts[0].get("message", {"kind": parts[0]["kind"]})
        message = {**envelope, "parts": [item["part"] for item in parts if item["part"] is not None]}
        yield key.rpartition(".")[0], message


def _made_of(entry: Entry) -> JsonObject:
    """Return a message made from the fields of an entry that another writer added."""
    call = {"tool_name": entry.tool_name, "tool_call_id": entry.tool_call_id or entry.entry_id}
    moment = entry.created_at.isoformat()
    if entry.kind == "tool_call":
        parts = [{"part_kind": "tool-call", **call, "args": entry.arguments}]
        return {"kind": "response", "timestamp": moment, "parts": parts}
    if entry.role == "assistant":
        return {"kind": "response", "timestamp": moment, "parts": [{"part_kind": "text", "content": entry.content}]}
    part: JsonObject = {"content": entry.content, "timestamp": moment}
    if entry.kind == "tool_result" and entry.tool_call_id is not None:
        part |= {"part_kind": "tool-return", **call, "tool_name": entry.tool_name or "tool"}
    else:
        part["part_kind"] = "system-prompt" if entry.role == "system" else "user-prompt"
    return {"kind": "request", "timestamp": moment, "parts": [part]}


def _draft(item: JsonObject, own: JsonObject, large: LargeValues, field: str) -> EntryDraft:
    part = clean(item["part"]) or {}
    kind, role = str(part.get("part_kind", "request")), "assistant" if item["kind"] == "response" else "system"
    derived = {**_derived(part, kind, role), **own}
    if kind == "thinking" or not part:
        derived["metadata"] = {**own["metadata"], HIDDEN: True}
    plain = {"kind": "message", "role": _SPOKEN.get(kind, role), "content": f"[{kind[:100]}]", **own}
    return item_draft_or_plain(SDK, item, derived, plain, large, field=field)


def _derived(part: JsonObject, kind: str, role: str) -> JsonObject:
    """Return the fields of the entry of a part, whatever is in it."""
    name, call_id = part.get("tool_name"), part.get("tool_call_id")
    if kind in _CALLS and name and call_id:
        arguments, _ = arguments_of(part.get("args"))
        given = part.get("args")
        written = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
        content = f"{name}({written})"
        return {
            "kind": "tool_call",
            "role": "assistant",
            "tool_name": name,
            "tool_call_id": call_id,
            "arguments": arguments,
            "content": content,
        }
    content = _text(part.get("content")) or f"[{kind[:100]}]"
    if kind in _RESULTS and name and call_id:
        failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
        return {
            "kind": "tool_result",
            "tool_name": name,
            "tool_call_id": call_id,
            "tool_status": "error" if failed else "ok",
            "content": content,
        }
    return {"kind": "message", "role": _SPOKEN.get(kind, role), "content": content}


def _text(content: Any) -> str:
    """Return the text of a string, of texts and files, or of other JSON; empty if it is blank."""
    if isinstance(content, list) and any(isinstance(each, str) or _is_of_sdk(each) for each in content):
        text = "\n".join(map(_line, content))
    else:
        text = "" if content is None else _line(content)
    return text if text.strip() else ""


def _line(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not _is_of_sdk(value):
        return json.dumps(value, ensure_ascii=False)
    return str(value.get("content")) if value["kind"] == _TEXT else f"[{value['kind']}]"


def _is_of_sdk(value: Any) -> bool:
    """Tell whether *value* is a file, or a text with metadata, and no JSON of a tool."""
    return isinstance(value, dict) and isinstance(value.get("kind"), str) and value["kind"] in _OF_SDK
