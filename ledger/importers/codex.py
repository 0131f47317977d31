"""Codex rollouts (JSONL): items of the Responses API, compactions, and events around them. Source: adapters IN-5."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.importers.base import ConversationReader, Importer, conversation, moment, shaped, with_leftovers
from ledger.importers.parts.documents import Document
from ledger.importers.parts.response_items import item_entry, item_text
from ledger.importers.parts.steps import Summarized, WindowChange, hidden

FORMAT: Final = "codex"
_LINE: Final = {"timestamp", "type", "payload"}


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
    return "\n".join(item_text(item.get("content")) for item in items if isinstance(item, dict))


IMPORTER: Final = Importer(FORMAT, detects, read, reads_damaged=True)
