"""Exports of chat applications: ChatGPT, Claude and Open WebUI. Source: adapters IN-19.

Their messages are a tree: an answer that was asked for again, or a question that was edited, begins a branch. The
branch that the application shows is the session; each other one is a session ``id~n`` with its whole history.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    conversation,
    moment,
    shaped,
    with_leftovers,
)
from ledger.formats.importers.elements.prefix import branch_name
from ledger.formats.importers.elements.steps import EMPTY, hidden
from ledger.formats.importers.openai_chat import entries_of

FORMAT: Final = "chat-export"
#: What only says where a message is in the tree.
_OF_TREE: Final = {"id", "parentId", "childrenIds", "uuid", "parent_message_uuid"}
#: What changes when a conversation goes on, so that its first entry would be another one.
_CHANGING: Final = {"update_time", "updated_at", "current_node"}
_SENDERS: Final = {"human": "user", "assistant": "assistant"}


class _Node(msgspec.Struct, frozen=True):
    """A message in the tree, as raw entries; without any it only joins others."""

    parent: str | None
    entries: list[JsonObject]


class _Tree(msgspec.Struct, frozen=True):
    """The messages of a conversation by id, and the one at the end of the branch that is shown."""

    name: str
    nodes: dict[str, _Node]
    shown: str | None
    about: JsonObject


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a conversation of such an export, or a list of them."""
    return _kind(next(iter(_listed(found[0].value)), None)) is not None


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the branches of each conversation, the one that is shown first.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    for document in found:
        for number, item in enumerate(_listed(document.value)):
            kind = _kind(item)
            if kind is None:
                raise ImportRefused("bad_shape", f"item {number} is no conversation of an export", line=document.line)
            with shaped(f"conversation {number}", line=document.line):
                tree = _READERS[kind](item, name)
                branches = _branches(tree)
            for place, path in enumerate(branches):
                steps = ((document.line, tree.nodes[each].entries) for each in path)
                yield conversation(FORMAT, branch_name(tree.name, place), steps, about=tree.about)


def _branches(tree: _Tree) -> list[list[str]]:
    """Return the ids from the beginning to each end of a branch, without messages that have no entries.

    Raises:
        KeyError: a parent is missing, or a message is its own ancestor.
    """
    parents = {node.parent for node in tree.nodes.values()}
    ends = [each for each in tree.nodes if each not in parents]
    shown = tree.shown if tree.shown in tree.nodes else next(iter(ends), None)
    found: list[list[str]] = []
    for end in dict.fromkeys([shown, *ends]):
        path: list[str] = []
        at = end
        while at is not None:
            if at in path:
                raise KeyError(at)
            path.append(at)
            at = tree.nodes[at].parent
        path = [each for each in reversed(path) if tree.nodes[each].entries]
        if path and not any(path == before[: len(path)] for before in found):
            found.append(path)
    return found


def _chatgpt(item: JsonObject, name: str) -> _Tree:
    nodes = {}
    for own, node in item["mapping"].items():
        message = node.get("message")
        nodes[own] = _Node(node.get("parent"), [] if message is None else [_of_chatgpt(message)])
    about = _about(item, "mapping")
    return _Tree(str(item.get("conversation_id") or item.get("id") or name), nodes, item.get("current_node"), about)


def _of_chatgpt(message: JsonObject) -> JsonObject:
    content, author = message.get("content") or {}, message["author"]
    parts = content.get("parts")
    listed = parts if isinstance(parts, list) else [content.get("text") or content.get("result") or ""]
    texts = [part if isinstance(part, str) else f"[{_type(part)}]" for part in listed]
    text, role = "\n".join(texts), author["role"]
    kind = content.get("content_type")
    entry: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
    if role == "tool":
        entry = {"kind": "tool_result", "tool_name": author.get("name"), "content": text}
    elif role == "assistant" and message.get("recipient") not in {None, "all"}:
        entry = {"kind": "tool_call", "tool_name": message["recipient"], "arguments": text}
    known = {"id", "create_time", "author", "recipient"}
    if kind == "text" and all(isinstance(part, str) for part in listed):
        known.add("content")
    beside = {key: value for key, value in author.items() if key != "role" and value}
    entry = with_leftovers(
        {**entry, "created_at": moment(message.get("create_time"))},
        {**message, "author": beside or None, "recipient": None},
        known - {"author"},
        original_id=message.get("id"),
        original_timestamp=message.get("create_time"),
    )
    unseen = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    blank = entry["kind"] == "message" and entry["content"] == EMPTY
    if blank and kind == "text":
        entry["content"] = "[blank message]"
    return hidden(entry) if blank or unseen or kind in {"thoughts", "reasoning_recap"} else entry


def _claude(item: JsonObject, name: str) -> _Tree:
    nodes: dict[str, _Node] = {}
    last, tools = None, dict[str, str]()
    for number, message in enumerate(item["chat_messages"]):
        own = str(message.get("uuid") or number)
        parent = message.get("parent_message_uuid")
        nodes[own] = _Node(parent if parent in nodes else last, _of_claude(message, tools))
        last = own
    about = _about(item, "chat_messages")
    return _Tree(str(item.get("uuid") or name), nodes, last, about)


def _of_claude(message: JsonObject, tools: dict[str, str]) -> list[JsonObject]:
    sender = message["sender"]
    content = list(message.get("content") or [{"type": "text", "text": message.get("text")}])
    content += [
        {"type": "text", "text": f"{each.get('file_name')}:\n{each['extracted_content']}"}
        for each in message.get("attachments") or ()
        if each.get("extracted_content")
    ]
    repeated = any(message.get("text") in part.values() for part in content if isinstance(part, dict))
    fields = _OF_TREE | {"sender", "content", *(("text",) if repeated else ())}
    rest = {key: value for key, value in message.items() if key not in fields and value not in (None, [], "")}
    message_fields = {"role": _SENDERS.get(sender, sender), "content": content, "id": message.get("uuid")}
    return entries_of({**rest, **message_fields}, tools)


def _open_webui(item: JsonObject, name: str) -> _Tree:
    chat = item["chat"]
    history, tools = chat["history"], dict[str, str]()
    nodes = {
        own: _Node(message.get("parentId"), entries_of(_without_tree(message), tools))
        for own, message in history["messages"].items()
    }
    beside = {key: value for key, value in chat.items() if key not in {"history", "messages"} and value is not None}
    about = {**_about(item, "chat"), "chat": beside}
    return _Tree(str(item.get("id") or name), nodes, history.get("currentId"), about)


def _about(item: JsonObject, messages: str) -> JsonObject:
    return {key: value for key, value in item.items() if key not in {messages, *_CHANGING} and value is not None}


def _without_tree(message: JsonObject) -> JsonObject:
    return {**{key: value for key, value in message.items() if key not in _OF_TREE}, "id": message.get("id")}


_READERS: Final = {"mapping": _chatgpt, "chat_messages": _claude, "chat": _open_webui}


def _kind(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return None
    if isinstance(item.get("mapping"), Mapping) and "current_node" in item:
        return "mapping"
    if isinstance(item.get("chat_messages"), list):
        return "chat_messages"
    history = item["chat"].get("history") if isinstance(item.get("chat"), Mapping) else None
    return "chat" if isinstance(history, Mapping) and isinstance(history.get("messages"), Mapping) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _type(part: Any) -> str:
    return str(part.get("content_type", "part")) if isinstance(part, Mapping) else "part"


IMPORTER: Final = Importer(FORMAT, detects, read)
