"""SWE-agent trajectories (``.traj``): a ``history`` of messages whose actions are commands or tool calls."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    conversation,
    shaped,
    with_leftovers,
)
from ledger.formats.importers.openai_chat import message_entries

FORMAT: Final = "swe-agent"
_MARKS: Final = {"agent", "message_type", "thought", "action"}
_KNOWN: Final = {"role", "content", "tool_calls", "tool_call_ids", "agent", "message_type", "is_demo"}
_STEP_REPEATS: Final = {"action", "response", "thought", "messages", "query"}
_COMMAND_TOOL: Final = "shell"


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document has a history of messages that name their agent."""
    value = found[0].value
    history = value.get("history") if isinstance(value, dict) else None
    return (
        isinstance(history, list)
        and bool(history)
        and all(isinstance(item, dict) and "role" in item for item in history[:3])
        and any(_MARKS & item.keys() for item in history[:3])
    )


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield one conversation for each document."""
    for document in found:
        value = document.value
        history = value.get("history") if isinstance(value, dict) else None
        if not isinstance(history, list):
            raise ImportRefused("bad_shape", "the trajectory has no history", line=document.line)
        left = {"history", "trajectory"}
        about = {key: field for key, field in value.items() if key not in left and field is not None}
        messages = zip(repeat(document.line), _messages(document, history))
        yield conversation(FORMAT, name, messages, about=about)


def _messages(document: Document, history: list[Any]) -> Iterator[list[JsonObject]]:
    steps = iter(_list(document.value.get("trajectory")))
    waiting: str | None = None  # id of the command whose output comes next
    names: dict[str, str] = {}
    for number, item in enumerate(history):
        if not isinstance(item, dict) or not isinstance(item.get("role"), str):
            raise ImportRefused("bad_shape", f"history item {number} has no role", line=document.line)
        with shaped(f"history item {number}", line=document.line):
            if item["role"] == "assistant":
                entries, waiting = _agent_entries(item, number, names)
            elif waiting is not None or item["role"] == "tool":
                step = None if item.get("is_demo") else next(steps, None)  # only the run itself has steps
                entries = list(_results(item, waiting, names, step))
                waiting = None
            else:
                entries = message_entries({"role": item["role"], "content": item.get("content")}, names)
        entries[0] = with_leftovers(
            entries[0],
            item,
            _KNOWN | {name for name in ("thought", "action") if _is_in(entries, item.get(name))},
            agent=item.get("agent"),
            message_type=item.get("message_type"),
            is_demo=item.get("is_demo"),
            original_role=item["role"] if entries[0]["kind"] == "tool_result" and item["role"] != "tool" else None,
        )
        yield entries


def _agent_entries(item: JsonObject, number: int, names: dict[str, str]) -> tuple[list[JsonObject], str | None]:
    """Return the entries of the agent, and the id of its plain command if it gave one."""
    if item.get("tool_calls"):
        message = {"role": "assistant", "content": item.get("content"), "tool_calls": item["tool_calls"]}
        return message_entries(message, names), None
    action = item.get("action")
    if not isinstance(action, str) or not action.strip():
        return message_entries({"role": "assistant", "content": item.get("content")}, names), None
    entries = []
    thought = item.get("thought") or ""
    if thought.strip():
        entries.append({"kind": "message", "role": "assistant", "content": thought})
    call_id = f"action-{number}"
    call: JsonObject = {
        "kind": "tool_call",
        "tool_name": _COMMAND_TOOL,
        "tool_call_id": call_id,
        "arguments": {"command": action},
        "data": {"content": item.get("content")},
    }
    return [*entries, call], call_id


def _results(item: JsonObject, waiting: str | None, names: dict[str, str], step: Any) -> Iterator[JsonObject]:
    """Yield the results of the command or calls before, with what the trajectory measured for that step."""
    ids = _list(item.get("tool_call_ids")) or [waiting]
    measured = {
        key: value
        for key, value in (step if isinstance(step, dict) else {}).items()
        if key not in _STEP_REPEATS and not (key == "observation" and str(value) in str(item.get("content")))
    }
    for call_id in ids:
        yield {
            "kind": "tool_result",
            "tool_name": names.get(call_id, _COMMAND_TOOL),
            "tool_call_id": call_id,
            "content": item.get("content"),
            "data": {"step": measured} if measured else None,
        }


def _is_in(entries: list[JsonObject], text: Any) -> bool:
    """Tell whether *text* is the content or the command of one of *entries*."""
    return any(text == entry.get("content") or {"command": text} == entry.get("arguments") for entry in entries)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


IMPORTER: Final = Importer(FORMAT, detects, read)
