"""The thinking of Anthropic in items that adapters store whole. Source: adapters AD-5, PY-1."""

from typing import Any

from ledger.events import JsonObject
from projections.entries import Entry

#: How Pydantic AI names the provider whose signature a part has, and thinking that the provider keeps secret.
_PROVIDER, _REDACTED = "anthropic", "redacted_thinking"


def thinking_of(entry: Entry) -> list[JsonObject]:
    """Return the thinking that *entry* is, of Pydantic AI, as blocks with Anthropic's signature; else none.

    A text that was edited has no signature any more.
    """
    data: Any = entry.data
    if not isinstance(data, dict) or data.get("sdk") != "pydantic-ai" or entry.edited_version is not None:
        return []
    item = data.get("item")
    part = item.get("part") if isinstance(item, dict) else None
    if not isinstance(part, dict) or part.get("part_kind") != "thinking" or part.get("provider_name") != _PROVIDER:
        return []
    signature = part.get("signature")
    if not isinstance(signature, str) or not signature:
        return []
    if part.get("id") == _REDACTED:
        return [{"type": _REDACTED, "data": signature}]
    text = part.get("content")  # null where it is the entry's text
    return [{"type": "thinking", "thinking": entry.content if text is None else text, "signature": signature}]
