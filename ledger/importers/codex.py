"""Codex rollouts (JSONL): items of the Responses API, compactions, and events around them. Source: adapters IN-5."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.importers.base import (
    EMPTY,
    ConversationReader,
    Document,
    Importer,
    arguments_of,
    conversation,
    moment,
    shaped,
    with_leftovers,
)
from ledger.importers.steps import Summarized, WindowChange, hidden

FORMAT: Final = "codex"
_LINE: Final = {"timestamp", "type", "payload"}
_TEXTS: Final = {"input_text", "output_text", "text", "summary_text", "reasoning_text"}
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document is the first line of a rollout: new ones have a type, old ones only id and time."""
    value = found[0].value
    if not isinstance(value, dict):
        return False
    if value.get("type") == "session_meta":
        return isinstance(value.get("payload"), dict)
    bare = isinstance(value.get("id"), str) and isinstance(value.get("timestamp"), str)
    return bare and not {"type", "role", "messages", "source", "sessionId"} & value.keys()


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the session of a file."""
    first = next(found)
    if not isinstance(first.value, dict):
        raise ImportRefused("bad_shape", "must begin with the session", line=first.line)
    meta = first.value.get("payload") if first.value.get("type") == "session_meta" else first.value
    session = meta.get("id") if isinstance(meta, dict) else None
    title = session if isinstance(session, str) and session else name
    yield conversation(FORMAT, title, _messages(chain([first], found), title))


def _messages(found: Iterable[Document], title: str) -> Iterator[tuple[int, list[JsonObject] | WindowChange]]:
    tools: dict[str, str] = {}
    turn: JsonObject = {}  # what the newest turn said of its model
    for number, document in enumerate(found):
        value, line = document.value, document.line
        with shaped(f"{title}, line {line}", line=line):
            if not isinstance(value, dict):
                raise ImportRefused("bad_shape", "a line must be an object", line=line)
            is_wrapped = isinstance(value.get("payload"), dict) and isinstance(value.get("type"), str)
            payload = value["payload"] if is_wrapped else value
            line_type = value["type"] if is_wrapped else "response_item" if number else "session_meta"
            change: WindowChange | None = None
            if line_type == "response_item" and isinstance(payload.get("type"), str):
                entry = item_entry(payload, tools)
                entry = with_leftovers(entry, {}, set(), model=turn.get("model"))
            elif line_type == "compacted":
                change, entry = _compacted(payload, f"{title}-{line}")
            else:
                if line_type == "turn_context":
                    turn = payload
                inner = payload.get("type") if line_type == "event_msg" else None
                named = f"{line_type}/{inner}" if isinstance(inner, str) else line_type
                usage = payload.get("info") if inner == "token_count" else None
                shown = {"kind": "context", "content": f"[{named}]", "data": {"payload": payload}}
                entry = with_leftovers(hidden(shown, named), {}, set(), usage=usage)
        entry["created_at"] = moment(value.get("timestamp"))
        if is_wrapped:
            entry = with_leftovers(entry, value, _LINE, original_timestamp=value.get("timestamp"))
        if change is not None:
            yield line, change
        yield line, [entry]


def item_entry(item: JsonObject, tools: dict[str, str]) -> JsonObject:
    """Return an item of the Responses API as a raw entry; the names of called tools go into *tools*."""
    kind, call_id = item["type"], item.get("call_id")
    if kind == "message":
        text = _text(item.get("content"))
        role = _ROLES.get(item.get("role") or "", "assistant")
        spoken: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
        if not _is_plain(item.get("content")):
            spoken["data"] = {"content": item.get("content")}
        original = item.get("role") if item.get("role") != role else None
        known = {"type", "role", "content", "id"}
        return with_leftovers(spoken, item, known, original_id=item.get("id"), original_role=original)
    if kind == "reasoning":
        text = _text([*(item.get("summary") or ()), *(item.get("content") or ())])
        thought = {"kind": "message", "role": "assistant", "content": text if text.strip() else "[reasoning]"}
        return hidden({**thought, "data": {"item": item}})
    if isinstance(call_id, str) and kind.endswith("_output"):
        output = item.get("output")
        known = {"type", "call_id", "id", "output"}
        result = {
            "kind": "tool_result",
            "tool_call_id": call_id,
            "tool_name": tools.get(call_id),
            "content": _output_text(output),
            "data": None if isinstance(output, str) else {"output": output},
        }
        return with_leftovers(result, item, known, original_id=item.get("id"), item_type=_other_than(item, "function"))
    if isinstance(call_id, str) and kind.endswith("_call"):
        name = str(item.get("name") or kind.removesuffix("_call"))
        tools[call_id] = name
        given = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
        arguments, raw = arguments_of(given)
        call = {
            "kind": "tool_call",
            "tool_name": name,
            "tool_call_id": call_id,
            "arguments": arguments,
            "data": None if raw is None else {"arguments": raw},
        }
        known = {"type", "call_id", "id", "name", "arguments", "input", "action"}
        return with_leftovers(call, item, known, original_id=item.get("id"), item_type=_other_than(item, "function"))
    return {"kind": "message", "role": "assistant", "content": f"[{kind}]", "data": {"item": item}}


def _compacted(payload: JsonObject, place: str) -> tuple[WindowChange | None, JsonObject]:
    """Return the summary that replaced the history, and the entry with what else the line says."""
    text = payload.get("message")
    rest = {key: item for key, item in payload.items() if key != "message"}
    if not isinstance(text, str) or not text.strip():
        text = _text_of_history(payload.get("replacement_history"))
    marked = hidden({"kind": "context", "content": "[compacted]", "data": {"payload": rest}}, "compacted")
    return (Summarized(f"summary-{place}"[-100:].lstrip("-"), text) if text.strip() else None), marked


def _text_of_history(history: Any) -> str:
    items = history if isinstance(history, list) else []
    return "\n".join(_text(item.get("content")) for item in items if isinstance(item, dict))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) if isinstance(part, dict) and "text" in part else f"[{_type(part)}]" for part in parts
    )


def _output_text(output: Any) -> str | Any:
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        return output["content"]
    return _text(output) if isinstance(output, list) else output


def _is_plain(content: Any) -> bool:
    """Tell whether *content* is one text, of the usual type."""
    return isinstance(content, str) or (
        isinstance(content, list)
        and len(content) == 1
        and isinstance(content[0], dict)
        and content[0].keys() == {"type", "text"}
        and content[0]["type"] in _TEXTS
    )


def _other_than(item: JsonObject, usual: str) -> str | None:
    kind = str(item["type"])
    return None if kind in {f"{usual}_call", f"{usual}_call_output"} else kind


def _type(part: Any) -> str:
    return str(part.get("type", "part")) if isinstance(part, dict) else "part"


IMPORTER: Final = Importer(FORMAT, detects, read, reads_damaged=True)
