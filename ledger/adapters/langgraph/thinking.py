"""What a model thought before a message, as it goes back to its provider. Source: adapters LG-5, R-GEN-8."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ledger.errors import InvalidInput
from ledger.events.canonical import canonical_json
from ledger.events.strict_json import check_value
from ledger.formats.messages.beside_text import ITEM, THINKING_TYPES
from projections.entries import REASONING, REASONING_CONTENT, THINKING


def thinking_of(message: BaseMessage, first: Mapping[str, Any]) -> dict[str, Any]:
    """Return the thinking of *message* as data of its *first* entry: blocks, items or text, in its provider's shape."""
    if not isinstance(message, AIMessage):
        return {}
    content = message.content if isinstance(message.content, list) else []
    blocks = [block for block in content if isinstance(block, dict)]
    thoughts = [_without_index(block) for block in blocks if block.get("type") in THINKING_TYPES]
    items = [_without_index(block) for block in blocks if block.get("type") == "reasoning" and "summary" in block]
    text = message.additional_kwargs.get(REASONING_CONTENT)
    found: dict[str, Any] = {THINKING: thoughts} if thoughts else {}
    if items:
        found |= {REASONING: items, ITEM: _item(first)}
    if isinstance(text, str) and text.strip():
        found[REASONING_CONTENT] = text
    try:
        check_value(found, field="data")
    except InvalidInput:
        return {}  # the message itself is stored whole beside its entries
    return found


def _without_index(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "index"}  # its place in a stream


def _item(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return *entry* as the item that its reasoning led to."""
    if entry.get("kind") == "tool_call":
        arguments = canonical_json(entry.get("arguments") or {}).decode()
        call_id = entry.get("tool_call_id", entry["entry_id"])
        return {"type": "function_call", "call_id": call_id, "name": entry["tool_name"], "arguments": arguments}
    content = [{"type": "output_text", "text": entry["content"], "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}
