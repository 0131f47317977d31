"""Messages of any SDK as entries, one for each part of a message. Source: adapters IN-7, IN-17."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.formats.importers.elements.damaged import ORIGINAL
from ledger.formats.importers.elements.fitting import fitted
from ledger.formats.importers.elements.importer import TIMES, arguments_of, moment, with_leftovers
from ledger.formats.importers.elements.message_shapes import MARKERS, ROLE_GUESSED, parts_of
from ledger.formats.importers.elements.steps import EMPTY, GUESSED, hidden, noted

_ROLES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
_KNOWN_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_MESSAGE: Final = {
    *("role", "parts", "content", "finish_reason"),
    *("tool_calls", "function_call", "reasoning_content", "toolInvocations"),
}


#: Fields beside the content of a message that a message without any may have.
_ABOUT: Final = {"id", "name", "finish_reason", "original_role", *TIMES}


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
        role = _role_of(given)
        known = _known(message, role)
        about = {name: value for name, value in message.items() if name not in known and value is not None}
        if message.get("finish_reason"):
            about["finish_reason"] = message["finish_reason"]
        unknown = role not in _KNOWN_ROLES
        if unknown:
            role, about["original_role"] = "user", given
        original = about.pop(ORIGINAL, None)
        guessed = f"the role {given[:100]!r} is shown as user" if unknown else None
        if about.pop(ROLE_GUESSED, False):
            guessed = "a text without a role is shown as user"
        for number, part in enumerate(_entries(message, role, names)):
            entry = part.entry if part.entry.get("content") is None else fitted(part.entry)
            if number == 0 and original is not None:
                entry = {**entry, "data": {**(entry.get("data") or {}), ORIGINAL: original}}
            if about and not number:
                unread = {} if entry.get("content") != EMPTY else {n: v for n, v in about.items() if n not in _ABOUT}
                held = {**unread, **(entry.get("data") or {})}
                entry = {**entry, "data": held or None, "metadata": {n: v for n, v in about.items() if n not in unread}}
            if guessed and not number:
                entry = noted(entry, GUESSED, guessed)
            yield PartEntry(entry, part.identity)


def part_message_entries(message: JsonObject, names: dict[str, str]) -> list[JsonObject]:
    """Return the raw entries of one message with parts; thinking and what says nothing to a model is hidden.

    The names of called tools go into *names*. Its id and time become metadata, other fields data.
    """
    given = str(message["role"])
    role = _role_of(given)
    found = _entries(message, role, names)
    entries = [part.entry if part.identity is not None else hidden(part.entry) for part in found]
    raw_time = next((key for key in TIMES if message.get(key)), None)
    original_time = message[raw_time] if raw_time else None
    for entry in entries:
        entry["created_at"] = moment(original_time)
    known = (_known(message, role) - {"finish_reason"}) | {"id", raw_time or ""}
    first = next((place for place, part in enumerate(found) if part.identity is not None), 0)
    entries[first] = with_leftovers(
        entries[first],
        message,
        known,
        original_id=message.get("id"),
        original_timestamp=original_time,
        original_role=given if given != role else None,
    )
    return entries


def _role_of(given: str) -> str:
    return _ROLES.get(given.lower(), given.lower())


def _known(message: Mapping[str, Any], role: str) -> set[str]:
    """Return the fields that are read; a text beside parts is, if it repeats one of them."""
    known = _MESSAGE | ({"tool_call_id", "name"} if role == "tool" else set())
    parts, text = message.get("parts"), message.get("content")
    if (
        not isinstance(parts, list)
        or not text
        or any(isinstance(each, dict) and text in each.values() for each in parts)
    ):
        return known
    return known - {"content"}


def _entries(message: Mapping[str, Any], role: str, names: dict[str, str]) -> list[PartEntry]:
    found = [own for part in parts_of(message) if (own := _entry(part, role, names)) is not None]
    return found or [_text(EMPTY, role, None)]


def _entry(part: JsonObject, role: str, names: dict[str, str]) -> PartEntry | None:
    match part["type"]:
        case "text":
            text, rest = part.get("content"), _beside(part, {"type", "content"})
            return _text(str(text), role, None, rest) if str(text or "").strip() else None
        case "reasoning":
            text = str(part.get("content") or "").strip() or EMPTY
            rest = _beside(part, {"type", "content"})
            return PartEntry({"kind": "message", "role": role, "content": text, "data": rest}, None)
        case "tool_call":
            return _call(part, names)
        case "tool_call_response":
            return _result(part, names)
        case kind if kind in MARKERS or str(kind).startswith("data-"):
            return PartEntry({"kind": "context", "content": f"[{kind}]", "data": {"part": part}}, None)
        case kind:
            return _text(f"[{kind}]", role, {"part": part})


def _beside(part: JsonObject, known: set[str]) -> JsonObject | None:
    return {name: value for name, value in part.items() if name not in known and value not in (None, [], {})} or None


def _text(text: str, role: str, data: JsonObject | None, beside: JsonObject | None = None) -> PartEntry:
    """Return an entry of *text*; what stands *beside* the text has no part in its identity."""
    held = data if beside is None else {**(data or {}), **beside}
    if role == "tool":
        return PartEntry({"kind": "tool_result", "content": text, "data": held}, [role, text, None, data])
    return PartEntry({"kind": "message", "role": role, "content": text, "data": held}, [role, text, data])


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
    call_id, failed = part.get("id"), part.get("is_error")
    result = part.get("response", part.get("result"))
    known = {"type", "id", "name", "response", "result", "is_error"}
    data = {key: value for key, value in part.items() if key not in known}
    own = part.get("name")
    entry = {
        "kind": "tool_result",
        "tool_name": names.get(str(call_id)) or (str(own) if own else None),
        "tool_call_id": None if call_id is None else str(call_id),
        "content": None if result is None else shown_as_text(result),
        "tool_status": {True: "error", False: "ok"}.get(failed) if isinstance(failed, bool) else None,
        "data": data or None,
    }
    return PartEntry(entry, ["result", call_id, result])


def shown_as_text(result: Any) -> str:
    """Return the *result* of a tool as text: JSON, if it is none."""
    return result if isinstance(result, str) else canonical_json(result).decode()
