"""Messages that are events: of a span, in an attribute of it, or log records of their own. Source: adapters IN-21."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import arguments_of
from ledger.formats.importers.opentelemetry.otlp_records import MESSAGE_EVENTS, OPERATION, TelemetryRecord
from ledger.formats.importers.run_messages import messages_in

_PROMPT: Final = "gen_ai.content.prompt"
_COMPLETION: Final = "gen_ai.content.completion"
_CHOICE: Final = "gen_ai.choice"
_MESSAGES: Final = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
#: What an event says beside its message.
_BESIDE: Final = frozenset({"event.name", "gen_ai.system", "gen_ai.provider.name", "gen_ai.message.index"})
_BODY: Final = "gen_ai.event.content"


def messages_of_events(events: Iterable[JsonObject]) -> tuple[list[Any], list[Any]]:
    """Return what *events*, each with a ``name`` and ``attributes``, say was told to a model, and what it answered."""
    before: list[Any] = []
    after: list[Any] = []
    for event in events:
        name, fields = event["name"], _fields(event["attributes"])
        if name == _PROMPT:
            before += messages_in(_json(fields.get("gen_ai.prompt")), "user") or []
        elif name == _COMPLETION:
            after += messages_in(_json(fields.get("gen_ai.completion")), "assistant") or []
        elif name == _CHOICE:
            after += _choice(fields)
        else:
            before += _message(fields, _MESSAGES[name])
    return before, after


def grouped(records: Iterable[TelemetryRecord]) -> Iterator[TelemetryRecord]:
    """Yield *records*, with log records that are one message each joined to one record for each span."""
    spans: dict[tuple[str, str], TelemetryRecord] = {}
    for record in records:
        if not record.is_log or record.name not in MESSAGE_EVENTS:
            yield record
            continue
        event = {"name": record.name, "attributes": record.attributes}
        place = record.trace_id, record.span_id
        if place in spans:
            spans[place] = replace(spans[place], events=(*spans[place].events, event), ended_at=record.ended_at)
        else:
            attributes = {OPERATION: record.attributes.get(OPERATION) or "chat"}
            spans[place] = replace(record, events=(event,), attributes=attributes)
    yield from spans.values()


def listed_events(value: Any) -> list[JsonObject]:
    """Return the events in *value*, a list or its JSON, as Pydantic AI and Logfire have them in an attribute."""
    found = _json(value)
    events = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    named = ((str(each.get("event.name") or _name(each)), dict(each)) for each in events)
    return [{"name": name, "attributes": each} for name, each in named if name in MESSAGE_EVENTS]


def _name(event: Mapping[str, Any]) -> str:
    return _CHOICE if "message" in event else f"gen_ai.{event.get('role')}.message"


def _fields(attributes: JsonObject) -> JsonObject:
    body = _json(attributes.get(_BODY))
    if isinstance(body, Mapping):
        return dict(body)
    return {name: value for name, value in attributes.items() if name not in _BESIDE}


def _choice(fields: JsonObject) -> list[Any]:
    inside = _json(fields.get("message", fields.get("content")))
    rest = {name: value for name, value in fields.items() if name not in {"message", "content", "role", "index"}}
    if isinstance(inside, Mapping):
        return [{"role": "assistant", **rest, **inside}] if _says(inside) else []
    answer = {"role": "assistant", **rest, "content": inside}
    return [answer] if _says(answer) else []


def _message(fields: JsonObject, role: str) -> list[Any]:
    content = _json(fields.get("content"))
    message = {**fields, "role": fields.get("role") or role, "content": content}
    if role == "tool" and fields.get("id") is not None:
        message = {**message, "tool_call_id": fields["id"], "id": None}
    return [message] if _says(message) else []


def _says(message: Mapping[str, Any]) -> bool:
    return any(message.get(name) for name in ("content", "tool_calls", "parts", "function_call"))


def _json(value: Any) -> Any:
    """Return the JSON in a text that is an object or a list; other values as they are."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"[", "{"}:
        return value
    found, _ = arguments_of(value)
    return found if isinstance(found, list | dict) else value
