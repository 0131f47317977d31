"""Messages made of parts, as the semantic conventions of OpenTelemetry for generative AI have them, as entries."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ledger.canonical import canonical_json
from ledger.events import JsonObject
from ledger.importers.base import EMPTY, arguments_of
from ledger.importers.parts.damaged import ORIGINAL
from ledger.importers.parts.fitting import fitted

_ROLES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
_KNOWN_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_MESSAGE: Final = {"role", "parts", "content", "finish_reason"}


class PartEntry(msgspec.Struct, frozen=True):
    """The raw entry of a part, and its *identity*, which a later call repeats; None if it may leave the part out."""

    entry: JsonObject
    identity: list[Any] | None


def entries_of_messages(messages: Iterable[Any]) -> Iterator[PartEntry]:
    """Yield an entry for each part of *messages*; an empty text beside other parts is left out.

    Raises:
        AttributeError, KeyError, TypeError: they do not have the shape of messages.
    """
    names: dict[str, str] = {}
    for message in messages:
        given = str(message["role"])
        role = _ROLES.get(given.lower(), given.lower())
        about = {name: value for name, value in message.items() if name not in _MESSAGE and value is not None}
        if message.get("finish_reason"):
            about["finish_reason"] = message["finish_reason"]
        if role not in _KNOWN_ROLES:
            role, about["original_role"] = "user", given
        original = about.pop(ORIGINAL, None)
        found = [own for part in _parts(message) if (own := _entry(part, role, names)) is not None]
        for number, part in enumerate(found or [_text(EMPTY, role, None)]):
            entry = part.entry if part.entry.get("content") is None else fitted(part.entry)
            if number == 0 and original is not None:
                entry = {**entry, "data": {**(entry.get("data") or {}), ORIGINAL: original}}
            yield PartEntry({**entry, "metadata": about} if about and not number else entry, part.identity)


def _parts(message: Mapping[str, Any]) -> list[Any]:
    parts = message.get("parts")
    if parts is None:
        parts = message.get("content")
    if isinstance(parts, str):
        return [{"type": "text", "content": parts}]
    return list(parts or ())


def _entry(part: Any, role: str, names: dict[str, str]) -> PartEntry | None:
    if isinstance(part, str):
        part = {"type": "text", "content": part}
    match part.get("type"):
        case "text":
            text = part.get("content", part.get("text"))
            return _text(str(text), role, None) if str(text or "").strip() else None
        case "reasoning":
            own = {name: value for name, value in part.items() if name not in {"type", "content"}}
            text = str(part.get("content") or "").strip() or EMPTY
            return PartEntry({"kind": "message", "role": role, "content": text, "data": own or None}, None)
        case "tool_call":
            return _call(part, names)
        case "tool_call_response":
            return _result(part, names)
        case kind:
            return _text(f"[{kind}]", role, {"part": part})


def _text(text: str, role: str, data: JsonObject | None) -> PartEntry:
    if role == "tool":
        return PartEntry({"kind": "tool_result", "content": text, "data": data}, [role, text, None, data])
    return PartEntry({"kind": "message", "role": role, "content": text, "data": data}, [role, text, data])


def _call(part: Mapping[str, Any], names: dict[str, str]) -> PartEntry:
    call_id, name = part.get("id"), str(part.get("name") or "unknown")
    arguments, raw = arguments_of(part.get("arguments"))
    if call_id:
        names[str(call_id)] = name
    data = {key: value for key, value in part.items() if key not in {"type", "id", "name", "arguments"}}
    if raw is not None:
        data["arguments"] = raw
    entry = {
        "kind": "tool_call",
        "tool_name": name,
        "tool_call_id": None if call_id is None else str(call_id),
        "arguments": arguments,
        "data": data or None,
    }
    return PartEntry(entry, ["call", call_id, name, arguments])


def _result(part: Mapping[str, Any], names: dict[str, str]) -> PartEntry:
    call_id = part.get("id")
    result = part.get("response", part.get("result"))
    data = {key: value for key, value in part.items() if key not in {"type", "id", "response", "result"}}
    entry = {
        "kind": "tool_result",
        "tool_name": names.get(str(call_id)),
        "tool_call_id": None if call_id is None else str(call_id),
        "content": None if result is None else shown_as_text(result),
        "data": data or None,
    }
    return PartEntry(entry, ["result", call_id, result])


def shown_as_text(result: Any) -> str:
    """Return the *result* of a tool as text: JSON, if it is none."""
    return result if isinstance(result, str) else canonical_json(result).decode()
