"""Messages of a graph as entries of the session, so that search and the context see them. Source: adapters LG-5."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ledger.adapters.langgraph.entry_messages import entry_id_of
from ledger.adapters.langgraph.stored_checkpoints import is_messages
from ledger.adapters.langgraph.thinking import thinking_of
from ledger.errors import InvalidInput
from ledger.events.limits import NAME_BYTES
from ledger.formats.importers.elements.fitting import beginning
from ledger.session.entry_drafts import draft_entry

_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "developer": "system"}
_REFUSED: Final = re.compile("[\x00\ud800-\udfff]")


def entries_of(message: BaseMessage, name: str, *, whole: bool = False) -> list[dict[str, Any]]:
    """Return the entries of a message, with ids made from the *name* of its blob: its text, and each call of a tool.

    What the model thought before is in the data of the first.

    Of a text over 1 MiB they have the beginning, unless they are to have the *whole*.
    """
    entry_id = entry_id_of(name)
    metadata = {"sdk": "langgraph", "type": message.type}
    if message.id and len(message.id) <= 200 and message.id.isprintable():
        metadata["message_id"] = message.id
    if isinstance(message, AIMessage) and message.name:
        metadata["agent"] = _shown(message.name)[:200]
    text = _readable(message.text if isinstance(message.text, str) else str(message.text))
    text = text if whole else beginning(text)
    if isinstance(message, ToolMessage):
        result = {
            "kind": "tool_result",
            "tool_name": _name(message.name or "tool"),
            "tool_call_id": _name(message.tool_call_id) or None,
            "tool_status": "error" if message.status == "error" else "ok",
            "content": text,
            "entry_id": entry_id,
            "metadata": metadata,
        }
        return [{name: value for name, value in result.items() if value is not None}]
    calls: list[Any] = []
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *message.invalid_tool_calls]  # an agent answers both, and providers want it
    found: list[dict[str, Any]] = []
    if text.strip() or not calls:
        role = _ROLES.get(message.type, "assistant")
        content = text if text.strip() else f"[{_shown(message.type) or 'message'}]"
        found.append({"role": role, "content": content, "entry_id": entry_id, "metadata": metadata})
    for at, call in enumerate(calls, 1):
        entry = {
            "kind": "tool_call",
            "tool_name": _name(call["name"] or "tool"),
            "arguments": call["args"],
            "entry_id": entry_id_of(name, at if found else 0),  # the first has the bytes, and is found by the name
            "metadata": metadata,
        }
        if call["id"]:
            entry["tool_call_id"] = _name(call["id"])
        found.append(_storable(entry))
    thinking = thinking_of(message, found[0])
    return [{**found[0], "data": thinking}, *found[1:]] if thinking else found


class NextWindow(NamedTuple):
    """The *entries* to add to the window, whether it then has *only* them, and the names of the messages in it then.

    *of_tasks* are the last of these, each with the id of the checkpoint after which a task wrote it. *shown* is None if
    nobody knows what the window has.
    """

    entries: list[dict[str, Any]]
    only: bool
    shown: list[str] | None
    of_tasks: tuple[tuple[str, str], ...] = ()


NOTHING_SHOWN: Final = NextWindow([], only=False, shown=[])


def window_after(
    before: NextWindow,
    checkpoint_id: str,
    messages: Any,
    names: Sequence[str],
    asked: Sequence[tuple[BaseMessage, str]],
) -> NextWindow:
    """Return the change to the window of a checkpoint with *messages*, whose blobs have these *names*.

    It has them, then those that the graph is *asked* with, then what tasks have said since, which is there already, but
    leaves if the others are not in front of it. Of a channel that has no list of messages, such as one of differences,
    it has nothing, and *shown* is None.
    """
    if not is_messages(messages) and messages != []:
        return NextWindow([], only=bool(before.shown), shown=None)
    known = set(names) if asked else set()
    new = [pair for pair in asked if pair[1] not in known]
    own = [*names, *(name for _, name in new)]
    if before.shown is not None:
        of_tasks = tuple(each for each in before.of_tasks if each[0] >= checkpoint_id and each[1] not in own)
        later = [name for _, name in of_tasks]
        old = len(before.shown) - len(later)
        if own[:old] + later == before.shown and (old >= len(own) or not later):
            rest = [*zip(messages[old:], names[old:], strict=True), *new[max(old - len(names), 0) :]]
            return NextWindow(all_entries(rest), only=False, shown=own + later, of_tasks=of_tasks)
    return NextWindow(all_entries([*zip(messages, names, strict=True), *new]), only=True, shown=own)


def to_show(messages: Any, names: Sequence[str]) -> list[tuple[BaseMessage, str]]:
    """Return each of *messages* with its name; none if they are no messages, or if one is an order to remove others.

    Without those that a node, in a thread of its own, added in place after the first ones got their *names*.
    """
    values = [messages] if isinstance(messages, BaseMessage) else messages
    if not isinstance(values, list):
        return []
    named = values[: len(names)]
    if len(named) < len(names) or any(not isinstance(each, BaseMessage) or each.type == "remove" for each in named):
        return []
    return list(zip(named, names, strict=True))


def _storable(entry: dict[str, Any]) -> dict[str, Any]:
    """Return *entry*, without arguments that the ledger refuses; the message itself is stored whole beside it."""
    try:
        draft_entry(entry)
    except InvalidInput:
        return {**entry, "arguments": None, "content": _shown(repr(entry["arguments"]))}
    return entry


def all_entries(messages: Iterable[tuple[BaseMessage, str]]) -> list[dict[str, Any]]:
    """Return the entries of *messages* with the names of their blobs, each once."""
    found = {entry["entry_id"]: entry for message, name in messages for entry in entries_of(message, name)}
    return list(found.values())


def _name(text: str) -> str:
    """Return the name of a tool or the id of a call as an entry can have it: its beginning."""
    return _shown(text)[:200].encode()[:NAME_BYTES].decode(errors="ignore")


def _shown(text: str) -> str:
    """Return *text* as the ledger can hold it: NUL and lone surrogates replaced, too long ones cut."""
    return beginning(_readable(text))


def _readable(text: str) -> str:
    return _REFUSED.sub(lambda found: "␀" if found[0] == "\x00" else "�", text)
