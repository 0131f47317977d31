"""Gemini CLI chats: one JSON object, or JSONL of messages, updates (``$set``) and rewinds. Source: adapters IN-6."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.names import is_entry_id
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    conversation,
    moment,
    shaped,
    with_leftovers,
)
from ledger.formats.importers.elements.steps import EMPTY, UNKNOWN, Rewound, WindowChange, hidden, noted

FORMAT: Final = "gemini-cli"
_KNOWN: Final = {"id", "timestamp", "type", "content"}
_KNOWN_OF_ANSWERS: Final = _KNOWN | {"toolCalls", "thoughts", "tokens", "model"}
_KNOWN_OF_CALLS: Final = {"id", "name", "args", "result", "status", "timestamp"}
_FAILED: Final = {"error", "cancelled"}
_OPEN: Final = {"validating", "scheduled", "executing", "awaiting_approval"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document is a chat, or the first line of one."""
    value = found[0].value
    return (
        isinstance(value, dict)
        and isinstance(value.get("sessionId"), str)
        and isinstance(value.get("projectHash"), str)
    )


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the chat of a file."""
    first = next(found)
    value = first.value
    if not isinstance(value, dict):
        raise ImportRefused("bad_shape", "must be a chat", line=first.line)
    session = value.get("sessionId") or name
    about = {key: field for key, field in value.items() if key != "messages" and field is not None}
    messages = value.get("messages")
    if messages is not None and not isinstance(messages, list):
        raise ImportRefused("bad_shape", "messages must be a list", line=first.line)
    lines = chain(zip(repeat(first.line), messages or ()), ((document.line, document.value) for document in found))
    yield conversation(FORMAT, str(session), _Chat(str(session)).read(lines), about=about)


class _Chat:
    """Follows the records of a chat; a message that is recorded again adds what it has more."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts: dict[str, dict[str, bytes]] = {}  # message id -> what its recorded parts show, by name
        self._rewritten = 0
        self._entries: list[tuple[str, str]] = []  # id of the message and of each entry, since the last rewind

    def read(self, records: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, list[JsonObject] | WindowChange]]:
        """Yield the entries of each record, and the rewinds."""
        for line, record in records:
            with shaped(f"{self._name}, line {line}", line=line):
                if not isinstance(record, dict):
                    raise ImportRefused("bad_shape", "a record must be an object", line=line)
                change = self._rewound(record["$rewindTo"]) if isinstance(record.get("$rewindTo"), str) else None
                history = record["$set"].get("messages") if isinstance(record.get("$set"), dict) else None
                if isinstance(history, list):
                    change, history = self._replaced(history)
                entries = self._entries_of(record, line)
            if change is not None:
                yield line, change
            if entries:
                yield line, entries
            for message in history or ():
                with shaped(f"{self._name}, line {line}", line=line):
                    entries = self._entries_of(message, line)
                yield line, entries

    def _replaced(self, history: list[JsonObject]) -> tuple[Rewound | None, list[JsonObject]]:
        """Return the removal of what a new *history* has no more, or has otherwise, and the messages to add."""
        owners = list(dict.fromkeys(owner for owner, _ in self._entries))
        same = 0
        for owner, message in zip(owners, history, strict=False):
            if owner != message.get("id") or self._parts[owner] != _shown_parts(message):
                break
            same += 1
        gone = set(owners[same:])
        removed = tuple(entry_id for owner, entry_id in self._entries if owner in gone)
        self._entries = [each for each in self._entries if each[0] not in gone]
        self._rewritten += 1
        for message in history[same:]:
            self._parts.pop(str(message.get("id")), None)  # it is added again, as it is now
        return Rewound(removed) if removed else None, history[same:]

    def _rewound(self, message_id: str) -> Rewound | None:
        """Return the removal of a message and all after it; of all messages if there is none of this id."""
        place = next((at for at, (owner, _) in enumerate(self._entries) if owner == message_id), 0)
        removed = tuple(entry_id for _, entry_id in self._entries[place:])
        self._entries = self._entries[:place]
        return Rewound(removed) if removed else None

    def _entries_of(self, record: JsonObject, line: int) -> list[JsonObject]:
        message_id, kind = record.get("id"), record.get("type")
        if not isinstance(message_id, str) or not isinstance(kind, str):
            line_type = next((key for key in record if key.startswith("$")), "record")
            return [hidden(_kept(record, line_type), line_type)]
        named = is_entry_id(f"{message_id}.0") and len(message_id) < 64
        again = message_id in self._parts
        known = self._parts.setdefault(message_id, {})
        entries: list[JsonObject] = []
        times = f":{self._rewritten}" if self._rewritten else ""
        is_other = False
        for part, entry in _parts(record, kind):
            is_other = is_other or (part in known and known[part] != _shown(entry))
            if part not in known:
                known[part] = _shown(entry)
                entries.append({**entry, "entry_id": f"{message_id}.{part}{times}" if named else None})
        if again:  # what it says otherwise than before is in the record itself
            entry = hidden(_kept(record, "updated message"), "updated message")
            what = "a message was recorded again with other content; the first is still shown"
            entries.append(noted(entry, UNKNOWN, what, line) if is_other else entry)
        else:
            entries[0] = with_leftovers(
                entries[0],
                record,
                _KNOWN_OF_ANSWERS if kind == "gemini" else _KNOWN,
                original_id=message_id,
                original_timestamp=record.get("timestamp"),
                model=record.get("model") if kind == "gemini" else None,
                usage=record.get("tokens") if kind == "gemini" else None,
            )
        for entry in entries:
            entry["created_at"] = entry.get("created_at") or moment(record.get("timestamp"))
            if entry.get("entry_id"):
                self._entries.append((message_id, entry["entry_id"]))
        return entries


def _shown(entry: JsonObject) -> bytes:
    return canonical_json([entry.get("content"), entry.get("arguments")])


def _shown_parts(record: JsonObject) -> dict[str, bytes]:
    return {part: _shown(entry) for part, entry in _parts(record, str(record.get("type")))}


def _parts(record: JsonObject, kind: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the entries of a message with names that stay when it is recorded again."""
    if kind not in {"user", "gemini"}:
        text = _text(record.get("content"))
        entry = {"kind": "context", "content": text if text.strip() else f"[{kind}]"}
        yield "0", hidden({**entry, "data": {"content": record.get("content")}}, kind)
        return
    text = _text(record.get("content"))
    calls = record.get("toolCalls") or () if kind == "gemini" else ()
    for number, thought in enumerate(record.get("thoughts") or () if kind == "gemini" else ()):
        words = [str(thought[name]) for name in ("subject", "description") if thought.get(name)]
        shown = "\n".join(words) if any(word.strip() for word in words) else "[thought]"
        yield (
            f"thought-{number}",
            hidden({"kind": "message", "role": "assistant", "content": shown, "data": {"thought": thought}}),
        )
    if text.strip() or not calls:
        role = "user" if kind == "user" else "assistant"
        spoken: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
        if not _is_plain(record.get("content")):
            spoken["data"] = {"content": record.get("content")}
        yield "0", spoken
    for number, call in enumerate(calls):
        yield from _call(call, number)


def _call(call: JsonObject, number: int) -> Iterator[tuple[str, JsonObject]]:
    name, call_id, status = str(call.get("name") or "unknown"), call.get("id"), call.get("status")
    entry: JsonObject = {
        "kind": "tool_call",
        "tool_name": name,
        "tool_call_id": call_id,
        "arguments": call.get("args"),
        "created_at": moment(call.get("timestamp")),
    }
    yield (
        f"call-{number}",
        with_leftovers(entry, call, _KNOWN_OF_CALLS, original_timestamp=call.get("timestamp"), status=status),
    )
    if call.get("result") is None and (status in _OPEN or status is None):
        return
    result = call.get("result")
    text = _result_text(result)
    yield (
        f"result-{number}",
        {
            "kind": "tool_result",
            "tool_name": name,
            "tool_call_id": call_id,
            "content": text,
            "tool_status": "error" if status in _FAILED else "ok" if status == "success" else None,
            "data": None if isinstance(result, str) or result is None else {"result": result},
        },
    )


def _result_text(result: Any) -> str:
    """Return what a tool answered: the output in its function responses, or its parts as text."""
    texts: list[str] = []
    for part in result if isinstance(result, list) else [result]:
        response = (part.get("functionResponse") or {}).get("response") if isinstance(part, dict) else None
        output = response.get("output", response.get("error")) if isinstance(response, dict) else None
        if isinstance(output, str):
            texts.append(output)
        elif response is not None:
            texts.append(canonical_json(response).decode())
        else:
            texts.append(_text(part))
    return "\n".join(texts)


def _text(content: Any) -> str:
    """Return the text of parts; of other parts the name of what they hold."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    if isinstance(content, dict):
        text = content.get("text")
        return text if isinstance(text, str) else f"[{next(iter(content), 'part')}]"
    return str(content)


def _is_plain(content: Any) -> bool:
    if isinstance(content, list):
        return len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"text"}
    return content is None or isinstance(content, str)


def _kept(record: JsonObject, line_type: str) -> JsonObject:
    return {"kind": "context", "content": f"[{line_type}]", "data": {"record": record}}


IMPORTER: Final = Importer(FORMAT, detects, read, reads_damaged=True)
