"""Lines of the Claude Agent SDK as entries, and back. Source: adapters AD-5, CL-2, CL-3."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.adapters.large_items import LargeValues, item_draft_or_plain
from ledger.adapters.packed_items import unpacked
from ledger.events import JsonObject
from ledger.events.names import is_entry_id
from ledger.formats.importers.elements.blocks import is_thought, with_thoughts
from ledger.formats.importers.elements.claude_lines import entries_of
from ledger.formats.importers.elements.damaged import clean
from ledger.formats.importers.elements.fitting import beginning
from ledger.formats.importers.elements.importer import moment
from ledger.formats.importers.elements.steps import HIDDEN
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry

SDK: Final = "claude-agent-sdk"
_DERIVED: Final = ("kind", "role", "content", "tool_name", "tool_call_id", "tool_status", "arguments")


def drafts_of(lines: Sequence[Mapping[str, Any]], large: LargeValues) -> list[EntryDraft]:
    """Return the entries of transcript *lines* of one write.

    Lines of thinking leave the window, so their blocks are also beside the next line of their answer.

    Raises:
        InvalidInput: as `draft_of` does.
    """
    drafts: list[EntryDraft] = []
    answer, before = None, list[JsonObject]()
    for at, line in enumerate(lines):
        message = line.get("message")
        message = message if line.get("type") == "assistant" and isinstance(message, dict) else {}
        content, same = message.get("content"), message.get("id")
        blocks = content if isinstance(content, list) and same is not None else []
        before = before if same == answer else []
        answer, thoughts = same, [clean(block) for block in blocks if is_thought(block)]
        only = bool(thoughts) and len(thoughts) == len(blocks)
        beside = [] if only else [*before, *thoughts]
        drafts.append(draft_of(line, large, field=f"entries[{at}]", thinking=beside))
        before = [*before, *thoughts] if only else []
    return drafts


def draft_of(
    line: Mapping[str, Any], large: LargeValues, *, field: str = "", thinking: Sequence[JsonObject] = ()
) -> EntryDraft:
    """Return the entry of a transcript *line*: its text, call or result, and the whole line in its data.

    What is too large for an entry goes into *large*. *thinking* are the blocks before what the line says.

    Raises:
        InvalidInput: ``too_large``: with it, *large* is over the limit of a write.
    """
    item, uuid = dict(line), line.get("uuid")
    own: JsonObject = {
        "entry_id": uuid if isinstance(uuid, str) and is_entry_id(uuid) else None,
        "created_at": moment(line.get("timestamp")),
    }
    derived = with_thoughts(_derived(clean(item)), thinking)
    plain = {"kind": "context", "content": f"[{clean(str(line.get('type')))[:100]}]"}
    return item_draft_or_plain(SDK, item, {**own, **derived}, {**own, **plain}, large, field=field)


def line_of(entry: Entry) -> JsonObject:
    """Return the line of *entry* with its current text; of another writer's entry, one made of its fields."""
    line = unpacked(SDK, entry)
    if line is None:
        spoken = "assistant" if entry.role in {"assistant", "tool"} else "user"
        message = {"role": spoken, "content": entry.content}
        return {
            "type": spoken,
            "uuid": entry.entry_id,
            "timestamp": entry.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "message": message,
        }
    return line


def _derived(item: JsonObject) -> JsonObject:
    """Return the fields of the one entry of a line."""
    try:
        parts = entries_of(item, {})
    except (AttributeError, KeyError, TypeError):
        parts = []
    shown = [part for part in parts if not (part.get("metadata") or {}).get(HIDDEN)] or parts
    if len(shown) == 1:
        found = {name: shown[0][name] for name in _DERIVED if shown[0].get(name) is not None}
        text = (shown[0].get("data") or {}).get("text")
        if isinstance(text, str) and found.get("content") == beginning(text):  # which the importer cut
            found["content"] = text
        if found["kind"] == "tool_call":
            found.setdefault("content", f"{found['tool_name']}(…)")
    else:
        texts = [str(part.get("content") or f"[{part.get('tool_name')}]") for part in shown]
        role = "assistant" if item.get("type") == "assistant" else "user"
        found = {"kind": "message", "role": role, "content": "\n".join(texts) or f"[{item.get('type')}]"}
    metadata: JsonObject = {HIDDEN: True} if shown and (shown[0].get("metadata") or {}).get(HIDDEN) else {}
    if isinstance(item.get("agentId"), str):
        metadata["agent"] = item["agentId"]
    return {**found, "metadata": metadata} if metadata else found
