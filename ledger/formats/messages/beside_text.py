"""What an entry holds in its data beside its text: parts, an item, thinking and reasoning of its message.

A program may use the same keys for data of its own, and an adapter keeps items without their text. So what is there
counts only where it says the same as the entry.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import text_of
from ledger.formats.importers.elements.response_items import item_entry
from ledger.formats.importers.elements.steps import EMPTY
from ledger.formats.messages.sdk_thinking import thinking_of
from ledger.session.attachments import OWN_TEXT, put_back
from ledger.session.entry_drafts import draft_entry
from projections.entries import BLOCK, ONLY_REASONING, REASONING, REASONING_CONTENT, THINKING, Entry

#: Keys in the data of an entry: what its message had beside text, in the shape that it had.
ITEM, CONTENT = "item", "content"
#: Those of what the model thought, which stays with the answer when its text is edited.
THOUGHTS: Final = (THINKING, REASONING, REASONING_CONTENT)
#: Types of the blocks of Anthropic that are thinking.
THINKING_TYPES: Final = ("thinking", "redacted_thinking")


def data_of(entry: Entry, attachments: Mapping[str, bytes]) -> JsonObject:
    """Return what *entry* holds beside its text: of an edited one only the thinking; not what lacks its bytes."""
    if not isinstance(entry.data, dict):
        return {}
    is_edited = entry.edited_version is not None
    held: JsonObject = {}
    for key, says in _CHECKS.items():
        if key not in entry.data or (is_edited and key not in THOUGHTS) or not says(entry.data[key], entry):
            continue
        with suppress(KeyError):
            held[key] = put_back(entry.data[key], attachments, literal=OWN_TEXT if key in {CONTENT, ITEM} else ())
    if thinking := thinking_of(entry):
        held[THINKING] = thinking
    if ITEM not in held and entry.content != ONLY_REASONING:
        held.pop(REASONING, None)  # a provider takes it back only before the item that it led to
    return held


def item_draft(item: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return the raw entry of an item of OpenAI Responses, whose type may be left out of a message."""
    return item_entry({**item, "type": item.get("type", "message")}, names)


def _is_content(content: Any, entry: Entry) -> bool:
    if isinstance(content, dict):  # what its text says is in another order, and without bytes
        return entry.of_server_tool
    return isinstance(content, list) and _filled(text_of(content)[0]) == _filled(entry.content)


def _filled(text: str) -> str:
    return text if text.strip() else EMPTY


def _is_item(item: Any, entry: Entry) -> bool:
    try:
        draft = draft_entry(item_draft(item, {}))
    except (AttributeError, KeyError, TypeError, InvalidInput):
        return False
    same = draft.kind, draft.role, draft.content, draft.tool_call_id, draft.arguments
    named = draft.tool_name is None or draft.tool_name == entry.tool_name
    return named and same == (entry.kind, entry.role, entry.content, entry.tool_call_id, entry.arguments)


def _are_of_type(values: Any, *types: str) -> bool:
    return isinstance(values, list) and all(isinstance(each, dict) and each.get("type") in types for each in values)


_CHECKS: Final[Mapping[str, Callable[[Any, Entry], bool]]] = {
    CONTENT: _is_content,
    ITEM: _is_item,
    BLOCK: lambda _, entry: entry.of_server_tool,
    THINKING: lambda blocks, _: _are_of_type(blocks, *THINKING_TYPES),
    REASONING: lambda items, _: _are_of_type(items, "reasoning"),
    REASONING_CONTENT: lambda text, _: isinstance(text, str) and bool(text),
}
