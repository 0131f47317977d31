"""Messages whose fields are attributes with numbers in their names. Source: adapters IN-21."""

from collections.abc import Mapping
from typing import Any, Final

from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import arguments_of

#: Longer lists than any conversation are no lists of messages.
_MOST: Final = 100_000


def indexed(attributes: JsonObject, prefix: str) -> list[Any]:
    """Return the list that is spread over attributes such as ``prefix.0.role``, with lists and objects inside."""
    whole: JsonObject = {}
    for name, value in attributes.items():
        if not name.startswith(f"{prefix}."):
            continue
        *path, last = name[len(prefix) + 1 :].split(".")
        at = whole
        for step in path:
            inside = at.get(step)
            if not isinstance(inside, dict):
                inside = at[step] = {} if inside is None else {"": inside}
            at = inside
        at[last] = value
    found = _listed(whole)
    return found if isinstance(found, list) else []


def of_openinference(item: Any) -> JsonObject:
    """Return a message of OpenInference as a chat message."""
    message = item.get("message") if isinstance(item, Mapping) else None
    if not isinstance(message, Mapping):
        return {"role": "unknown", "content": item}
    found: JsonObject = {name: value for name, value in message.items() if name not in {"contents", "tool_calls"}}
    found.setdefault("role", "unknown")
    contents = message.get("contents")
    if isinstance(contents, list):
        found["content"] = [_content(each) for each in contents]
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        found["tool_calls"] = [each.get("tool_call", each) if isinstance(each, Mapping) else {} for each in calls]
    if message.get("function_call_name"):
        called = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json")}
        found["function_call"] = called
    return found


def of_openllmetry(item: Any, role: str) -> JsonObject:
    """Return a message of OpenLLMetry as one of chat; its content may be the JSON of blocks."""
    if not isinstance(item, Mapping):
        return {"role": role, "content": item}
    content = item.get("content")
    if isinstance(content, str) and content.lstrip()[:1] == "[":
        blocks, _ = arguments_of(content)
        if isinstance(blocks, list) and blocks and all(isinstance(each, Mapping) and "type" in each for each in blocks):
            content = blocks
    return {**item, "role": item.get("role") or role, "content": content}


def _content(item: Any) -> Any:
    inside = item.get("message_content") if isinstance(item, Mapping) else None
    return inside if isinstance(inside, Mapping) else item


def _listed(value: Any) -> Any:
    """Return *value* with lists in place of objects whose keys are numbers."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() and len(key) < 7 and int(key) < _MOST for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(item) for key, item in value.items()}
