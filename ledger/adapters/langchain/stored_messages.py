"""Messages of LangChain as entries, and back. Source: adapters AD-5, LC-1."""

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage, convert_to_messages, message_to_dict, messages_from_dict

from ledger.adapters.langgraph.state_window import entries_of
from ledger.adapters.large_items import LargeValues, item_draft
from ledger.adapters.packed_items import unpacked
from ledger.errors import InvalidInput
from ledger.session.entry_drafts import EntryDraft, draft_entry
from projections.entries import Entry

SDK: Final = "langchain"
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "tool": "user"}


def drafts_of(messages: Sequence[BaseMessage], large: LargeValues) -> list[EntryDraft]:
    """Return the entries of *messages*: text, result, and each call; the message itself is in the data of the first.

    What is too large for an entry goes into *large*.

    Raises:
        InvalidInput: a message has what cannot be read back, or together they are over the limit of a write, which is
            ``too_large``; *field* says which.
    """
    drafts = []
    for number, message in enumerate(messages):
        field = f"messages[{number}]"
        for at, entry in enumerate(entries_of(message, "", whole=True)):
            own = {**entry, "entry_id": None, "metadata": {**entry["metadata"], "sdk": SDK}}
            if at:
                drafts.append(draft_entry({**own, "data": {"sdk": SDK, "v": 1, "part": at}}, field=field))
            else:
                drafts.append(item_draft(SDK, _item(message, field), own, large, field=field))
    return drafts


def messages_of(entries: Sequence[Entry]) -> list[BaseMessage]:
    """Return the messages of *entries* with their current texts; of another writer's entry, one made of its fields."""
    found: list[BaseMessage] = []
    for entry in entries:
        data = entry.data
        if isinstance(data, dict) and data.get("sdk") == SDK and "part" in data:
            continue  # a call of a message whose entry is before it
        item = unpacked(SDK, entry)
        found += [_made_of(entry)] if item is None else messages_from_dict([item])
    return found


def _item(message: BaseMessage, field: str) -> dict[str, Any]:
    """Return the JSON of *message*, text first, after a check that it can be read back, equal as JSON."""
    try:
        text = _json(message)
        same = _json(messages_from_dict([json.loads(text)])[0]) == text
    except (TypeError, ValueError):
        same = False
    if not same:
        raise InvalidInput("bad_value", "has what JSON cannot hold: use a message class of langchain-core", field=field)
    return dict(json.loads(text))


def _json(message: BaseMessage) -> str:
    tagged = message_to_dict(message)
    return json.dumps({"data": tagged["data"], "type": tagged["type"]})


def _made_of(entry: Entry) -> BaseMessage:
    call_id = entry.tool_call_id or entry.entry_id
    message: dict[str, Any] = {"role": _ROLES[entry.role], "content": entry.content}
    if entry.kind == "tool_call":
        function = {"name": entry.tool_name, "arguments": json.dumps(entry.arguments or {})}
        message |= {"content": "", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}
    elif entry.kind == "tool_result" and entry.tool_call_id is not None:
        message |= {"role": "tool", "tool_call_id": call_id, "name": entry.tool_name}
    return convert_to_messages([message])[0]
