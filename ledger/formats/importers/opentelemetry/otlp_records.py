"""Spans and log records of OTLP JSON, with their attributes as plain values. Source: adapters IN-7, IN-13."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import shaped

#: The event that has the messages of a call, as a log record or within a span.
DETAILS: Final = "gen_ai.client.inference.operation.details"
#: Events that are one message, or all that was said, in conventions before 1.37.
MESSAGE_EVENTS: Final = frozenset(
    {f"gen_ai.{name}" for name in ("choice", "content.prompt", "content.completion")}
    | {f"gen_ai.{role}.message" for role in ("system", "user", "assistant", "tool")}
)
OPERATION: Final = "gen_ai.operation.name"
#: Where the records of each signal are.
KINDS: Final = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
}
_READ: Final = {
    *("name", "traceId", "spanId", "attributes", "startTimeUnixNano", "endTimeUnixNano"),
    *("eventName", "timeUnixNano"),
}
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


class TelemetryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A span, or a log record with *is_log*; the ids are lower-case hex, or empty.

    *resource* has the attributes of what sent it, *others* the fields that have no place here, as they came. *events*
    are those that are messages, *dialects* the names of those found, *keeps* whether the span has content that is none.
    """

    name: str
    trace_id: str
    span_id: str
    attributes: JsonObject
    resource: JsonObject = {}
    others: JsonObject = {}
    events: tuple[JsonObject, ...] = ()
    dialects: tuple[str, ...] = ()
    keeps: bool = False
    is_log: bool = False
    failed: bool = False
    began_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def operation(self) -> str | None:
        """What the model or agent was asked to do, such as ``chat``; None if the record is not about a model."""
        found = self.attributes.get(OPERATION)
        return found if isinstance(found, str) and found else None


def is_otlp(value: Any) -> bool:
    """Tell whether *value* is a request of OTLP JSON: spans or log records."""
    return isinstance(value, dict) and any(isinstance(value.get(kind[0]), list) for kind in KINDS.values())


def records_of(value: Any, *, line: int = 1) -> Iterator[TelemetryRecord]:
    """Yield the spans and log records in *value*, a request of OTLP JSON that begins at *line*.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    if not is_otlp(value):
        raise ImportRefused("bad_shape", "must have resourceSpans or resourceLogs", line=line)
    with shaped("a span or log record", line=line):
        for outer, inner, records in KINDS.values():
            for resource in value.get(outer) or ():
                about = attributes_of((resource.get("resource") or {}).get("attributes"))
                for scope in resource.get(inner) or ():
                    for record in scope.get(records) or ():
                        yield _log_of(record, about) if records == "logRecords" else _span_of(record, about)


def _span_of(span: Mapping[str, Any], resource: JsonObject) -> TelemetryRecord:
    attributes = attributes_of(span.get("attributes"))
    for event in span.get("events") or ():
        if event.get("name") == DETAILS:
            attributes = {**attributes_of(event.get("attributes")), **attributes}
    return TelemetryRecord(
        name=str(span.get("name") or ""),
        trace_id=_id(span.get("traceId")),
        span_id=_id(span.get("spanId")),
        attributes=attributes,
        resource=resource,
        others=_unread(span),
        events=tuple(
            {"name": event["name"], "attributes": attributes_of(event.get("attributes"))}
            for event in span.get("events") or ()
            if event.get("name") in MESSAGE_EVENTS
        ),
        failed=(span.get("status") or {}).get("code") in {2, "STATUS_CODE_ERROR"},
        began_at=_moment(span.get("startTimeUnixNano")),
        ended_at=_moment(span.get("endTimeUnixNano")),
    )


def _log_of(record: Mapping[str, Any], resource: JsonObject) -> TelemetryRecord:
    attributes, body = attributes_of(record.get("attributes")), value_of(record.get("body"))
    if isinstance(body, dict):
        attributes = {**body, **attributes}
    name = str(record.get("eventName") or attributes.get("event.name") or "")
    if name == DETAILS:
        attributes.setdefault(OPERATION, "chat")
    moment = _moment(record.get("timeUnixNano")) or _moment(record.get("observedTimeUnixNano"))
    return TelemetryRecord(
        name=name,
        trace_id=_id(record.get("traceId")),
        span_id=_id(record.get("spanId")),
        attributes=attributes,
        resource=resource,
        others=_unread(record),
        is_log=True,
        ended_at=moment,
    )


def _unread(record: Mapping[str, Any]) -> JsonObject:
    """Return the fields of *record* that are read nowhere else; of its events those without messages."""
    found = {name: value for name, value in record.items() if name not in _READ}
    if isinstance(found.get("events"), list):
        found["events"] = [event for event in found["events"] if event.get("name") not in {DETAILS, *MESSAGE_EVENTS}]
    if isinstance(value_of(found.get("body")), dict):
        del found["body"]  # it is among the attributes
    return {name: value for name, value in found.items() if value}


def attributes_of(pairs: Any) -> JsonObject:
    """Return a list of attributes as an object."""
    return {str(pair["key"]): value_of(pair.get("value")) for pair in pairs or ()}


def value_of(value: Any) -> Any:
    """Return the plain value of a value of OTLP, which names its type; integers may be text."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, held = next(iter(value.items()))
    match kind:
        case "intValue":
            return int(held) if re.fullmatch(r"-?[0-9]{1,20}", str(held)) else held
        case "arrayValue":
            return [value_of(item) for item in held.get("values") or ()]
        case "kvlistValue":
            return attributes_of(held.get("values"))
        case _:
            return held


def _id(text: Any) -> str:
    """Return an id in lower-case hex; empty if it is none."""
    found = str(text or "").lower()
    return found if found.strip("0") and not found.strip("0123456789abcdef") else ""


def _moment(nanoseconds: Any) -> datetime | None:
    try:
        return _START + timedelta(microseconds=int(nanoseconds) // 1_000) if int(nanoseconds or 0) > 0 else None
    except (ValueError, OverflowError):
        return None
