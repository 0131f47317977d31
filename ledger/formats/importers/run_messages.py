"""Messages in inputs and outputs of traced runs, as LangChain or providers have them. Source: adapters IN-8, IN-9."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.names import is_entry_id
from ledger.events.strict_json import TRANSCRIPT, parse
from ledger.formats.importers.elements.blocks import has_blocks
from ledger.formats.importers.elements.message_parts import PartEntry
from ledger.formats.importers.elements.message_shapes import ROLE_GUESSED
from ledger.formats.importers.elements.steps import GUESSED, HIDDEN, NO_CONTENT, NOT_UNDERSTOOD, hidden, noted
from ledger.formats.importers.openai_chat import entries_of

#: The role of a message of LangChain, by the beginning of its class or by its type.
_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
#: Where messages are in an object, in the order in which they are looked for.
_PLACES: Final = ("messages", "prompts", "generations", "choices", "message", "output", "input")
_NOTHING: Final[tuple[Any, ...]] = (None, [], {}, "")
_OF_LANGCHAIN: Final = {"type", "tool_calls", "additional_kwargs"}


def part_entries(messages: Iterable[JsonObject]) -> list[PartEntry]:
    """Return an entry for each text, call and result of chat messages; thinking has no identity.

    Raises:
        AttributeError, KeyError, TypeError: they do not have the shape of messages.
    """
    names: dict[str, str] = {}
    found = []
    for message in messages:
        guessed = message.get(ROLE_GUESSED)
        for raw in entries_of({key: value for key, value in message.items() if key != ROLE_GUESSED}, names):
            entry = noted(raw, GUESSED, "a text without a role is shown as user") if guessed else raw
            is_hidden = (entry.get("metadata") or {}).get(HIDDEN)
            identity = [entry.get(name) for name in ("kind", "role", "content", "tool_call_id", "arguments")]
            found.append(PartEntry(entry, None if is_hidden else [*identity, entry.get("tool_name")]))
    return found


def record_of(run: JsonObject, *, field: str, named: str, trace_id: str, about: JsonObject, ended: Any) -> JsonObject:
    """Return the hidden entry of a *run* itself, which its data holds under *field*; its id is made of *named*."""
    kind = str(run.get("run_type") or run.get("type")).lower()
    entry_id = named if is_entry_id(named) else sha256(named.encode(errors="surrogatepass")).hexdigest()
    raw: JsonObject = {
        "kind": "context",
        "content": f"[{kind} {run.get('name') or ''}".rstrip() + "]",
        "entry_id": entry_id,
        "created_at": ended,
        "data": {field: run},
        "metadata": {"trace_id": trace_id, **about},
    }
    return hidden(raw, f"{kind} {field}")


def unread_record(record: JsonObject, given: Any, name: str) -> JsonObject:
    """Return the *record* of a call of a model that was *given* nothing, or what holds no messages."""
    if given in _NOTHING:
        return noted(record, NO_CONTENT, f"{name[:200]} has no content")
    return noted(record, NOT_UNDERSTOOD, f"{name[:200]}: its input holds no messages")


def unpacked(value: Any) -> Any:
    """Return the JSON in *value*, a text that holds messages, as some exports have it; other values as they are."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"[", "{"}:
        return value
    try:
        found = parse(value.encode(), TRANSCRIPT)
    except (InvalidInput, UnicodeEncodeError):
        return value
    return found if _hold_messages(found) else value


def _hold_messages(value: Any) -> bool:
    """Tell whether *value* holds messages that say who speaks: any list or text would be a message of somebody."""
    if isinstance(value, list):
        return any(map(_hold_messages, value))
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("role"), str) and {"content", "parts", "tool_calls"} & value.keys():
        return True
    if value.get("type") == "constructor" or str(value.get("type")).removesuffix("messagechunk").lower() in _ROLES:
        return {"kwargs", "data", "content"} & value.keys() != set()
    return any(_hold_messages(value[name]) for name in _PLACES if name in value)


def messages_in(value: Any, role: str) -> list[JsonObject] | None:
    """Return the chat messages in *value*; None if it holds none. A text is one message of *role*."""
    if isinstance(value, str):
        return [{"role": role, "content": value, ROLE_GUESSED: role == "user"}]
    if isinstance(value, list):
        if value and isinstance(value[0], list | str):  # a batch: what was really said is its first
            return messages_in(value[0], role)
        found = [_plain(item, role) for item in value]
        return [message for message in found if message is not None] if found and None not in found else None
    if not isinstance(value, Mapping):
        return None
    alone = _plain(value, role)
    if alone is not None:
        return [alone]
    places = (messages_in(value[name], role) for name in _PLACES if value.get(name) is not None)
    return next((messages for messages in places if messages is not None), None)


def beside_messages(value: Any) -> Any:
    """Return what *value*, in which `messages_in` found messages, has beside them, such as a model; or None."""
    if not isinstance(value, Mapping) or _plain(value, "user") is not None:
        return None
    place = next(name for name in _PLACES if messages_in(value.get(name), "user") is not None)
    return {name: item for name, item in value.items() if name != place} or None


def _plain(item: Any, role: str) -> JsonObject | None:
    """Return a message of any shape as a chat message; None if it is none."""
    if not isinstance(item, Mapping):
        return None
    if item.get("type") == "constructor" and isinstance(item.get("kwargs"), Mapping):
        path = item.get("id")
        name = str(path[-1] if isinstance(path, list) and path else "").lower()
        return _of_langchain(item["kwargs"], next((known for known in _ROLES if name.startswith(known)), name))
    if isinstance(item.get("role"), str):
        return dict(item)
    kind = item.get("type")
    if isinstance(kind, str) and kind.removesuffix("messagechunk").lower() in _ROLES:
        inside = item.get("data")
        return _of_langchain(inside if isinstance(inside, Mapping) else item, kind.lower())
    if "message" in item:  # a generation, or a choice
        return _plain(item["message"], role)
    if isinstance(item.get("text"), str):
        return {"role": role, "content": item["text"], ROLE_GUESSED: role == "user"}
    return None


def _of_langchain(fields: Mapping[str, Any], kind: str) -> JsonObject:
    """Return the fields of a LangChain message as a chat message; what chat does not have stays beside."""
    found = {key: value for key, value in fields.items() if key not in _OF_LANGCHAIN and value not in _NOTHING}
    found["role"] = _ROLES.get(kind) or fields.get("role") or kind
    found["content"] = fields.get("content")
    given = fields.get("additional_kwargs")
    more = dict(given) if isinstance(given, Mapping) else {"additional_kwargs": given} if given else {}
    calls = fields.get("tool_calls") or []
    if calls:
        more.pop("tool_calls", None)  # the same calls, as the provider gave them
    if has_blocks(found):
        calls = []  # its blocks have them
    if calls:
        found["tool_calls"] = [
            {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("args")}}
            for call in calls
        ]
    return {**more, **found}
