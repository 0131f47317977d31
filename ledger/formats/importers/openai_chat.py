"""Chat messages, of OpenAI or with parts of other SDKs.

A list, an object with ``messages``, JSONL of either, or a list of trajectories. Source: adapters IN-17.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.blocks import block_message_entries, has_blocks
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    TIMES,
    ConversationReader,
    Importer,
    arguments_of,
    conversation,
    moment,
    shaped,
    text_of,
    with_leftovers,
)
from ledger.formats.importers.elements.message_parts import part_message_entries
from ledger.formats.importers.elements.message_shapes import has_parts
from ledger.formats.importers.elements.response_items import is_item
from ledger.formats.importers.elements.steps import EMPTY

FORMAT: Final = "openai-chat"
_LISTS: Final = ("messages", "traj", "trajectory", "conversation", "contents")
#: Where a request of another provider has its instructions.
_PROMPTS: Final = ("systemInstruction", "system_instruction", "system")
_KNOWN: Final = {"role", "content", "name", "id"}
_KNOWN_OF_RESULTS: Final = _KNOWN | {"tool_call_id"}
_KNOWN_OF_OTHERS: Final = _KNOWN | {"tool_calls", "function_call"}
_ROLES: Final = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a message, a conversation, or a list of either."""
    value = found[0].value
    first = value[0] if isinstance(value, list) and value else value
    of_thread = isinstance(first, dict) and first.get("object") == "thread.message"
    return is_conversation(value) and not is_anthropic(value) and not is_item(first) and not of_thread


def read(found: Iterator[Document], name: str, format_: str = FORMAT) -> Iterator[ConversationReader]:
    """Yield the conversations; lines that are single messages make one conversation."""
    first = next(found)
    found = chain([first], found)
    if _is_message(first.value):
        yield conversation(format_, name, _messages(((document.line, document.value) for document in found), name))
        return
    for document in found:
        if not _is_conversation(document.value):
            raise ImportRefused("bad_shape", "must be a message or a conversation", line=document.line)
        value = document.value
        if isinstance(value, list) and value and not _is_message(value[0]):
            yield from (_read_item(item, name, document.line, format_) for item in value)
        else:
            yield _read_item(value, name, document.line, format_)


def _read_item(item: Any, name: str, line: int, format_: str) -> ConversationReader:
    if isinstance(item, list):
        return conversation(format_, name, _messages(zip(repeat(line), item), name))
    key = _messages_key(item)
    if key is None:
        raise ImportRefused("bad_shape", "a conversation has no list of messages", line=line)
    about = {field: value for field, value in item.items() if field != key and value is not None}
    session_id = _session_id(item, name)
    messages = [*_prompt(about, format_), *item[key]]
    return conversation(format_, session_id, _messages(zip(repeat(line), messages), session_id), about=about)


def _prompt(about: JsonObject, format_: str) -> list[JsonObject]:
    """Return the instructions of a request, taken out of *about*, as a message."""
    for key in _PROMPTS:
        prompt = about.get(key)
        if prompt and (format_ != FORMAT or isinstance(prompt, dict | list)):
            del about[key]
            return [{**prompt, "role": "system"} if isinstance(prompt, dict) else {"role": "system", "content": prompt}]
    return []


def _messages(messages: Iterable[tuple[int, Any]], session_id: str) -> Iterator[tuple[int, list[JsonObject]]]:
    names: dict[str, str] = {}
    for number, (line, message) in enumerate(messages):
        if not _is_message(message):
            raise ImportRefused("bad_shape", f"{session_id}, message {number} has no role", line=line)
        with shaped(f"{session_id}, message {number}", line=line):
            entries = entries_of(message, names)
        yield line, entries


def entries_of(message: JsonObject, tool_names: dict[str, str]) -> list[JsonObject]:
    """Return the raw entries of one message of any SDK; the names of called tools go into *tool_names*."""
    if has_blocks(message):
        return block_message_entries(message, tool_names)
    if has_parts(message):
        return part_message_entries(message, tool_names)
    return message_entries(message, tool_names)


def message_entries(message: JsonObject, tool_names: dict[str, str]) -> list[JsonObject]:
    """Return the raw entries of one message: its text, then its tool calls, whose names go into *tool_names*."""
    role = _ROLES.get(message["role"], message["role"])
    raw_time = next((key for key in TIMES if message.get(key)), None)
    known = {raw_time or "", *(_KNOWN_OF_RESULTS if role == "tool" else _KNOWN_OF_OTHERS)}
    if role == "tool":
        entries = [_result(message, tool_names)]
    else:
        entries = _calls(message, tool_names)
        text, whole = text_of(message.get("content"))
        if not text and message.get("refusal"):
            text = message["refusal"]
            known.add("refusal")
        if text.strip() or not entries:
            texts: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
            if whole is not None or not text.strip():
                texts["data"] = {"content": message.get("content")}
            entries.insert(0, texts)
    original_time = message[raw_time] if raw_time else None
    created_at = moment(original_time)
    for entry in entries:
        entry["created_at"] = created_at
    entries[0] = with_leftovers(
        entries[0],
        message,
        known,
        original_id=message.get("id"),
        original_timestamp=original_time,
        name=message.get("name") if role != "tool" else None,
        original_role=message["role"] if message["role"] != role else None,
    )
    return entries


def is_conversation(value: Any) -> bool:
    """Tell whether *value* is a message, a conversation, or a list of either."""
    return _is_conversation(value) or _is_message(value)


def is_anthropic(value: Any) -> bool:
    """Tell whether a message, a conversation, or the first of a list is of the Anthropic Messages API."""
    if isinstance(value, list) and value and not _is_message(value[0]):
        return is_anthropic(value[0])
    key = _messages_key(value)
    messages = value if isinstance(value, list) else value[key] if key else [value]
    return any(map(has_blocks, messages)) or (key == "messages" and bool(value.get("system")))


def _calls(message: JsonObject, tool_names: dict[str, str]) -> list[JsonObject]:
    entries = []
    legacy = message.get("function_call")
    for call in [*(message.get("tool_calls") or ()), *([{"function": legacy}] if legacy else [])]:
        function = call.get("function") or call.get("custom") or {}
        is_text = "input" in function  # a custom tool takes text, which may look like JSON
        arguments, raw = (function["input"], None) if is_text else arguments_of(function.get("arguments"))
        name = str(function.get("name") or call.get("name") or "unknown")
        if call.get("id"):
            tool_names[call["id"]] = name
        entry: JsonObject = {
            "kind": "tool_call",
            "tool_name": name,
            "tool_call_id": call.get("id"),
            "arguments": arguments,
            "data": None if raw is None else {"arguments": raw},
        }
        others = {key: value for key, value in function.items() if key not in {"name", "arguments", "input"}}
        known = {"id", "function", "custom"} | {key for key, value in call.items() if value in ("function", name)}
        entries.append(with_leftovers(entry, {**call, "of_function": others or None}, known))
    return entries


def _result(message: JsonObject, tool_names: dict[str, str]) -> JsonObject:
    text, whole = text_of(message.get("content"))
    call_id = message.get("tool_call_id")
    return {
        "kind": "tool_result",
        "tool_name": message.get("name") or tool_names.get(call_id or ""),
        "tool_call_id": call_id,
        "content": text,
        "data": None if whole is None else {"content": whole},
    }


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def _is_conversation(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and (_is_message(value[0]) or _is_conversation(value[0]))
    return isinstance(value, dict) and _messages_key(value) is not None


def _messages_key(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return next(
        (key for key in _LISTS if isinstance(value.get(key), list) and all(_is_message(m) for m in value[key][:1])),
        None,
    )


def _session_id(item: JsonObject, name: str) -> str:
    """Return a name for a conversation: its own id, its task and trial, or that of the file."""
    for key in ("session_id", "conversation_id", "thread_id"):
        if isinstance(item.get(key), str) and item[key]:
            return str(item[key])
    if "task_id" in item and "trial" in item:
        return f"{name}-task-{item['task_id']}-trial-{item['trial']}"
    return name


IMPORTER: Final = Importer(FORMAT, detects, read)
