"""Calls of models in spans and log records of OpenTelemetry, in any of its dialects. Source: adapters IN-7, IN-21."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import takewhile
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.strict_json import TRANSCRIPT
from ledger.formats.importers.elements.damaged import READABLE_LINE, parsed, with_original, within
from ledger.formats.importers.elements.fitting import fitted
from ledger.formats.importers.elements.importer import arguments_of, session_name
from ledger.formats.importers.elements.message_parts import PartEntry, entries_of_messages, shown_as_text
from ledger.formats.importers.elements.prefix import chained_ids
from ledger.formats.importers.elements.steps import LEFT_OUT, NO_CONTENT, NOT_UNDERSTOOD, hidden, noted
from ledger.formats.importers.opentelemetry.otlp_dialects import in_conventions, unknown_content
from ledger.formats.importers.opentelemetry.otlp_events import grouped
from ledger.formats.importers.opentelemetry.otlp_readings import (
    CONVERSATION,
    INPUT,
    INSTRUCTIONS,
    OUTPUT,
    TOOL_ARGUMENTS,
    TOOL_RESULT,
)
from ledger.formats.importers.opentelemetry.otlp_records import TelemetryRecord

_CONTENT: Final = (INSTRUCTIONS, INPUT, OUTPUT)
_TOOL: Final = "execute_tool"
_AGENTS: Final = frozenset({"invoke_agent", "invoke_workflow", "create_agent"})
_TOOL_CONTENT: Final = (TOOL_ARGUMENTS, TOOL_RESULT)
_MODEL: Final = ("gen_ai.response.model", "gen_ai.request.model")

#: NaN and Infinity, which Python writes, too.
_READABLE: Final = READABLE_LINE | {"invalid_json"}

#: Whether the messages of a call could be read: ``none`` were captured, or those that are there are no JSON.
ContentFound: TypeAlias = Literal["read", "none", "unreadable"]


class ReportedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A span or log record about a model: the entries it shows, in order, with *ids* that name all before them.

    *instructions* of the system may change with every call, so they do not count. *besides* are hidden entries:
    reasoning, which not every later call repeats. *record* is that of the span itself, *dialects* those besides the
    conventions that it is in.
    """

    session_id: str
    content: ContentFound
    record: JsonObject
    entries: tuple[JsonObject, ...] = ()
    ids: tuple[str, ...] = ()
    #: How many of the entries were sent; the others are the answer.
    sent: int = 0
    instructions: tuple[JsonObject, ...] = ()
    besides: tuple[JsonObject, ...] = ()
    of_agent: bool = False
    dialects: tuple[str, ...] = ()
    moment: datetime | None = None


def calls_of(found: Iterable[TelemetryRecord]) -> Iterator[ReportedCall]:
    """Yield the calls among *found*, by their ends; those of an agent after those that it consists of.

    A span that names no conversation belongs to the one that another span of its trace names, or to its trace.
    """
    about = [record for record in map(in_conventions, grouped(found)) if record.operation is not None]
    names: dict[str, str] = {}
    for record in about:
        named = record.attributes.get(CONVERSATION)
        if isinstance(named, str) and named and record.trace_id:
            names.setdefault(record.trace_id, named)
    calls = [_call(record, names) for record in about]
    latest = max((call.moment for call in calls if call.moment), default=None)
    yield from sorted(calls, key=lambda call: (call.of_agent, call.moment or latest or 0))


def _session_of(conversation: str) -> str:
    """Return the session of a *conversation*: its id, or if that is no name, one that no other conversation gets.

    A name with `~` is that of a branch.
    """
    name = session_name(conversation)
    if name == conversation and "~" not in name:
        return name
    digest = sha256(conversation.encode(errors="surrogatepass")).hexdigest()[:8]
    return name if name.endswith(f"-{digest}") else f"{name.replace('~', '-')}-{digest}"


def _call(record: TelemetryRecord, names: Mapping[str, str]) -> ReportedCall:
    attributes, operation = record.attributes, record.operation or ""
    named = attributes.get(CONVERSATION)
    session = named if isinstance(named, str) and named else names.get(record.trace_id) or record.trace_id
    base: JsonObject = {
        "session_id": _session_of(session or "opentelemetry"),
        "of_agent": operation in _AGENTS,
        "dialects": record.dialects,
        "moment": record.ended_at,
    }
    if operation == _TOOL:
        has_content = any(attributes.get(name) is not None for name in _TOOL_CONTENT)
        return ReportedCall(**base, content="read" if has_content else "none", record=_tool_record(record))
    if all(attributes.get(name) is None for name in _CONTENT):
        without_content = _record(record, operation)
        if record.keeps:
            return ReportedCall(**base, content="read", record=without_content)
        if operation not in _AGENTS:
            without_content = noted(without_content, NO_CONTENT, f"{_named(record)} has no content")
        return ReportedCall(**base, content="none", record=without_content)
    try:
        instructions, before, after = (_messages(attributes.get(name), name) for name in _CONTENT)
        parts = [*entries_of_messages(instructions), *entries_of_messages(before)]
        answers = list(entries_of_messages(after))
    except (InvalidInput, AttributeError, KeyError, TypeError, ValueError):
        text = f"{_named(record)}: its messages are no JSON of messages"
        unread = noted(_record(record, operation, whole=True), NOT_UNDERSTOOD, text)
        return ReportedCall(**base, content="unreadable", record=unread)
    return read_call(base, parts, answers, _record(record, operation), _marks(record), _usage(record.attributes))


def left_out(found: Iterable[TelemetryRecord]) -> Iterator[tuple[str, str]]:
    """Yield the kind and text of a note for each record of *found* of which `calls_of` makes nothing."""
    for record in map(in_conventions, grouped(found)):
        if record.operation is not None:
            continue
        held = unknown_content(record)
        if held is None:
            yield LEFT_OUT, f"{_named(record)} is not about a model: {record.name[:100]}"
        else:
            yield NOT_UNDERSTOOD, f"{_named(record)} has messages of no known dialect in {held[:100]}"


def read_call(
    base: JsonObject,
    before: Sequence[PartEntry],
    answers: Sequence[PartEntry],
    record: JsonObject,
    marks: JsonObject,
    usage: JsonObject,
) -> ReportedCall:
    """Return the call with what was said *before* it and its *answers*; *base* has its session and its moment.

    *marks* go into the metadata of every entry, *usage* into that of the first answer.
    """
    system = list(takewhile(lambda part: part.entry.get("role") == "system", before))
    parts, moment = before[len(system) :], base["moment"]
    shown = [part for part in (*parts, *answers) if part.identity is not None]
    ids = chained_ids(part.identity for part in shown)
    first = sum(part.identity is not None for part in parts)
    entries = [_marked(part, marks, usage if at == first else {}, moment) for at, part in enumerate(shown)]
    return ReportedCall(
        **base,
        content="read",
        record=record,
        entries=tuple({**entry, "entry_id": own} for entry, own in zip(entries, ids, strict=True)),
        ids=tuple(ids),
        sent=first,
        instructions=tuple(_instruction(part, marks, moment) for part in system),
        besides=tuple(_beside(parts, answers, marks, moment)),
    )


def _messages(value: Any, name: str) -> list[Any]:
    """Return a list of messages, which may be JSON in a text; one that no entry may have with its JSON beside it.

    Raises:
        InvalidInput, TypeError, ValueError: it is none.
    """
    if value is None:
        return []
    found, is_damaged = parsed(value.encode(), TRANSCRIPT, _READABLE) if isinstance(value, str) else (value, False)
    if not isinstance(found, list):
        raise TypeError
    if name == INSTRUCTIONS and found:
        found = [{"role": "system", "parts": found}]
    try:
        return [_readable(message) for message in found] if is_damaged else found
    except RecursionError:
        raise ValueError from None


def _readable(message: Any) -> Any:
    shown = within(message, TRANSCRIPT)
    return message if shown == message else with_original(message, json.dumps(message))


def _instruction(part: PartEntry, marks: JsonObject, moment: datetime | None) -> JsonObject:
    digest = sha256(canonical_json(part.identity or part.entry)).hexdigest()[:28]
    return {**_marked(part, marks, {}, moment), "entry_id": f"otel-{digest}"}


def _beside(
    parts: Iterable[PartEntry], answers: Iterable[PartEntry], marks: JsonObject, moment: datetime | None
) -> Iterator[JsonObject]:
    """Yield what a later call may leave out, such as reasoning, as hidden entries."""
    for part in (*parts, *answers):
        if part.identity is None:
            digest = sha256(canonical_json([marks, part.entry])).hexdigest()[:28]
            yield {**hidden(_marked(part, marks, {}, moment)), "entry_id": f"otel-{digest}"}


def _marked(part: PartEntry, marks: JsonObject, usage: JsonObject, moment: datetime | None) -> JsonObject:
    metadata = {**(part.entry.get("metadata") or {}), **marks, **usage}
    return {**part.entry, "metadata": metadata or None, "created_at": moment}


def _marks(record: TelemetryRecord) -> JsonObject:
    return {name: text for name, text in (("trace_id", record.trace_id), ("span_id", record.span_id)) if text}


def _usage(attributes: JsonObject) -> JsonObject:
    """Return model, usage and the ends of the answers, as far as they are known."""
    usage = {
        name.removeprefix("gen_ai.usage."): value
        for name, value in attributes.items()
        if name.startswith("gen_ai.usage.")
    }
    found = {
        "model": next((attributes[name] for name in _MODEL if attributes.get(name)), None),
        "usage": usage or None,
        "response_id": attributes.get("gen_ai.response.id"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _record(record: TelemetryRecord, operation: str, *, whole: bool = False) -> JsonObject:
    """Return the hidden entry of the span itself; *whole* with the messages as they came."""
    shown_attributes = {name: value for name, value in record.attributes.items() if whole or name not in _CONTENT}
    found = _usage(record.attributes)
    raw: JsonObject = {
        "kind": "context",
        "content": f"[{operation} {found.get('model') or record.name}]",
        "entry_id": _record_id(record),
        "created_at": record.ended_at,
        "data": within({"name": record.name, "attributes": shown_attributes, **_about(record)}, TRANSCRIPT),
        "metadata": {**_marks(record), **found},
    }
    return hidden(raw, f"{operation} {'log' if record.is_log else 'span'}")


def _tool_record(record: TelemetryRecord) -> JsonObject:
    """Return the hidden entry of a tool that ran; the next call of the model shows its result in place."""
    attributes = record.attributes
    call_id = attributes.get("gen_ai.tool.call.id")
    arguments, _ = arguments_of(attributes.get("gen_ai.tool.call.arguments"))
    result = attributes.get("gen_ai.tool.call.result")
    shown: JsonObject = {} if result is None else fitted({"content": shown_as_text(result)})
    rest = {name: value for name, value in attributes.items() if name not in _TOOL_CONTENT}
    data = {"name": record.name, "arguments": arguments, "attributes": rest, **shown.get("data", {}), **_about(record)}
    raw: JsonObject = {
        "kind": "tool_result",
        "tool_name": str(attributes.get("gen_ai.tool.name") or record.name or "unknown"),
        "tool_call_id": call_id if isinstance(call_id, str) else None,
        "tool_status": "error" if record.failed or attributes.get("error.type") else "ok",
        "content": shown.get("content"),
        "entry_id": _record_id(record),
        "created_at": record.ended_at,
        "data": within(data, TRANSCRIPT),
        "metadata": _marks(record),
    }
    return hidden(raw, f"{_TOOL} span")


def _named(record: TelemetryRecord) -> str:
    return f"{'log record of span' if record.is_log else 'span'} {record.span_id or 'without an id'}"


def _record_id(record: TelemetryRecord) -> str:
    """Return the id of a span or, without one, a digest of what it says."""
    if record.trace_id and record.span_id:
        return f"otel-{record.trace_id}-{record.span_id}"
    return f"otel-{sha256(canonical_json(record)).hexdigest()[:28]}"


def _about(record: TelemetryRecord) -> JsonObject:
    """Return times, resource and all other fields of *record*."""
    times = {"began_at": record.began_at, "ended_at": record.ended_at}
    found: JsonObject = {name: value.isoformat() for name, value in times.items() if value is not None}
    if record.events:
        found["events"] = list(record.events)
    return {**found, **{name: value for name in ("resource", "others") if (value := getattr(record, name))}}


def stored_whole(call: ReportedCall) -> JsonObject:
    """Return the record of a call that no branch shows, with all its entries in its data."""
    shown = [
        {name: value for name, value in entry.items() if name not in {"entry_id", "created_at", "metadata"}}
        for entry in (*call.instructions, *call.entries)
    ]
    return {**call.record, "data": {**call.record["data"], "messages": shown}} if shown else call.record
