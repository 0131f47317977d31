"""Observations and traces of Langfuse, as its export or API gives them. Source: adapters IN-9."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import ConversationReader, Importer, moment, session_name, shaped
from ledger.formats.importers.elements.spool import in_order
from ledger.formats.importers.opentelemetry.call_histories import conversations_of
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, read_call
from ledger.formats.importers.run_messages import (
    beside_messages,
    messages_in,
    part_entries,
    record_of,
    unpacked,
    unread_record,
)

FORMAT: Final = "langfuse"
_TYPES: Final = frozenset(
    {"GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL"}
)

#: The fields of a row of the blob export that the API calls otherwise.
_NAMES: Final = {
    "trace_id": "traceId",
    "parent_observation_id": "parentObservationId",
    "start_time": "startTime",
    "end_time": "endTime",
    "session_id": "sessionId",
    "usage_details": "usageDetails",
    "provided_model_name": "model",
}
#: What may be a text that is JSON.
_IO: Final = ("input", "output")


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is an observation, a trace with observations, or a list or page of either."""
    first: Any = next(iter(_listed(found[0].value)), None)
    return _is_trace(first) or (_is_observation(first) and str(first.get("type")) in _TYPES)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the branches of each session; observations are taken by their beginnings, parents first.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    sessions: dict[str, str] = {}  # that one observation of a trace names; complete when the first is yielded
    placed = in_order(_ordered(found, sessions))
    yield from conversations_of(FORMAT, ((line, _call(each, sessions, line)) for line, each in placed))


def _ordered(
    found: Iterator[Document], sessions: dict[str, str]
) -> Iterator[tuple[tuple[str, bool], tuple[int, JsonObject]]]:
    """Yield the order, line and content of each observation, and add the session of its trace to *sessions*."""
    for document in found:
        for each in _observations(document):
            if each.get("sessionId"):
                sessions.setdefault(each["traceId"], str(each["sessionId"]))
            order = str(each.get("startTime") or ""), each.get("parentObservationId") is not None
            yield order, (document.line, each)


def _listed(value: Any) -> list[Any]:
    """Return the observations and traces in *value*, by the names that the API has for their fields."""
    return [_named(item) for item in _items(value)]


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        return list(value["data"])  # a page of the API
    return value if isinstance(value, list) else [value]


def _named(item: Any) -> Any:
    """Return a row of the blob export, whose names have underscores, or a download of the UI, as the API has it."""
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("trace"), dict) and isinstance(item.get("observations"), list):
        return {**item, **item["trace"], "trace": None, "observations": [_named(each) for each in item["observations"]]}
    if "trace_id" not in item or "type" not in item or "traceId" in item:
        return item
    return {_NAMES.get(name, name): value for name, value in item.items()}


def _observations(document: Document) -> Iterator[JsonObject]:
    """Yield the observations of a document with the session of their trace; a trace itself is one of the type TRACE."""
    for item in _listed(document.value):
        if _is_observation(item):
            yield item
        elif _is_trace(item):
            trace = {key: value for key, value in item.items() if key != "observations"}
            session = {"sessionId": item["sessionId"]} if item.get("sessionId") else {}
            yield {**trace, "traceId": item["id"], "type": "TRACE", "startTime": item.get("timestamp")}
            for each in item["observations"]:
                if not isinstance(each, dict):
                    raise ImportRefused("bad_shape", "an observation must be an object", line=document.line)
                yield {"type": "SPAN", **session, **each, "traceId": item["id"]}
        else:
            raise ImportRefused("bad_shape", "must be an observation, or a trace with observations", line=document.line)


def _is_observation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("traceId"), str) and isinstance(value.get("type"), str)


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str) and isinstance(value.get("observations"), list)


def _call(observation: JsonObject, sessions: Mapping[str, str], line: int) -> ReportedCall:
    ended = moment(observation.get("endTime")) or moment(observation.get("startTime"))
    kind = str(observation["type"])
    observation = {**observation, **{name: unpacked(observation[name]) for name in _IO if name in observation}}
    session = session_name(sessions.get(observation["traceId"], observation["traceId"]))
    base: JsonObject = {"session_id": session, "moment": ended}
    usage = observation.get("usageDetails") or observation.get("usage")
    found = {"model": observation.get("model"), "usage": usage if isinstance(usage, Mapping) else None}
    about = {name: value for name, value in found.items() if value}
    record = _record(observation, about, ended)
    with shaped(f"observation {observation.get('id')}", line=line):
        before = messages_in(observation.get("input"), "user") if kind == "GENERATION" else None
        if before is None:
            if kind == "GENERATION":
                record = unread_record(record, observation.get("input"), f"observation {observation.get('id')}")
            return ReportedCall(**base, content="none", record=record)
        answers = messages_in(observation.get("output"), "assistant")
        record = _record({**observation, "input": beside_messages(observation["input"])}, about, ended)
        marks = {"trace_id": observation["traceId"], "observation_id": observation.get("id")}
        return read_call(base, part_entries(before), part_entries(answers or []), record, marks, about)


def _record(observation: JsonObject, about: JsonObject, ended: Any) -> JsonObject:
    own_id = observation.get("id") or f"{observation['traceId']}-{observation.get('startTime')}"
    named, trace_id = f"{str(observation['type']).lower()}-{own_id}", observation["traceId"]
    return record_of(observation, field="observation", named=named, trace_id=trace_id, about=about, ended=ended)


IMPORTER: Final = Importer(FORMAT, detects, read)
