"""Items of the OpenAI Responses API as entries. Source: adapters IN-5, IN-10."""

from typing import Any, Final

from ledger.events import JsonObject
from ledger.formats.importers.elements.blocks import has_blocks
from ledger.formats.importers.elements.importer import arguments_of, with_leftovers
from ledger.formats.importers.elements.steps import EMPTY, hidden

_TEXTS: Final = {"input_text", "output_text", "text", "summary_text", "reasoning_text"}
_ITEMS: Final = {"message", "reasoning", "item_reference", "compaction"} | {
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
}
_PARTS: Final = {"input_text", "output_text", "input_image", "input_file"}
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def is_item(value: Any) -> bool:
    """Tell whether *value* is an item that neither a chat message nor an Anthropic message can be."""
    if not isinstance(value, dict) or "sessionId" in value:
        return False
    kind, content = str(value.get("type")), value.get("content")
    if "role" not in value:
        return kind in _ITEMS or kind.endswith(("_call", "_call_output"))
    if isinstance(content, list) and any(
        isinstance(part, dict) and str(part.get("type")) in _PARTS for part in content
    ):
        return True
    return kind == "message" and not {"model", "stop_reason"} & value.keys() and not has_blocks(value)


def item_entry(item: JsonObject, tools: dict[str, str]) -> JsonObject:
    """Return an item of the Responses API as a raw entry; the names of called tools go into *tools*."""
    kind, call_id = item["type"], item.get("call_id")
    if kind == "message":
        text = item_text(item.get("content"))
        role = _ROLES.get(item.get("role") or "", "assistant")
        spoken: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
        if not _is_plain(item.get("content")):
            spoken["data"] = {"content": item.get("content")}
        original = item.get("role") if item.get("role") != role else None
        known = {"type", "role", "content", "id"}
        return with_leftovers(spoken, item, known, original_id=item.get("id"), original_role=original)
    if kind == "reasoning":
        text = item_text([*(item.get("summary") or ()), *(item.get("content") or ())])
        thought = {"kind": "message", "role": "assistant", "content": text if text.strip() else "[reasoning]"}
        return hidden({**thought, "data": {"item": item}})
    if isinstance(call_id, str) and kind.endswith("_output"):
        output = item.get("output")
        known = {"type", "call_id", "id", "output"}
        result = {
            "kind": "tool_result",
            "tool_call_id": call_id,
            "tool_name": tools.get(call_id),
            "content": _output_text(output),
            "data": None if isinstance(output, str) else {"output": output},
        }
        return with_leftovers(result, item, known, original_id=item.get("id"), item_type=_other_than(item, "function"))
    if isinstance(call_id, str) and kind.endswith("_call"):
        name = str(item.get("name") or kind.removesuffix("_call"))
        tools[call_id] = name
        given = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
        arguments, raw = arguments_of(given)
        call = {
            "kind": "tool_call",
            "tool_name": name,
            "tool_call_id": call_id,
            "arguments": arguments,
            "data": None if raw is None else {"arguments": raw},
        }
        known = {"type", "call_id", "id", "name", "arguments", "input", "action"}
        return with_leftovers(call, item, known, original_id=item.get("id"), item_type=_other_than(item, "function"))
    return {"kind": "message", "role": "assistant", "content": f"[{kind}]", "data": {"item": item}}


def item_text(content: Any) -> str:
    """Return the texts of an item's content, one a line; a part without text is named."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) if isinstance(part, dict) and "text" in part else f"[{_type(part)}]" for part in parts
    )


def _output_text(output: Any) -> str | Any:
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        return output["content"]
    return item_text(output) if isinstance(output, list) else output


def _is_plain(content: Any) -> bool:
    """Tell whether *content* is one text, of the usual type."""
    return isinstance(content, str) or (
        isinstance(content, list)
        and len(content) == 1
        and isinstance(content[0], dict)
        and content[0].keys() == {"type", "text"}
        and content[0]["type"] in _TEXTS
    )


def _other_than(item: JsonObject, usual: str) -> str | None:
    kind = str(item["type"])
    return None if kind in {f"{usual}_call", f"{usual}_call_output"} else kind


def _type(part: Any) -> str:
    return str(part.get("type", "part")) if isinstance(part, dict) else "part"
