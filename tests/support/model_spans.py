"""Spans of model calls as agents export them: by the real SDK, or as OTLP JSON."""

import json
from collections.abc import Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

Message = dict[str, Any]


def said(role: str, text: str) -> Message:
    """A message of one text."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def asked(call_id: str, name: str, **arguments: Any) -> Message:
    """The answer of a model that calls a tool."""
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}]}


def returned(call_id: str, result: Any) -> Message:
    """What the tool returned."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]}


def attributes_of_call(
    conversation: str | None, before: Sequence[Message], after: Sequence[Message], **others: Any
) -> dict[str, Any]:
    """The attributes of the span of a call of a model."""
    found: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.input.messages": json.dumps(before),
        "gen_ai.output.messages": json.dumps(after),
        **{name.replace("__", "."): value for name, value in others.items()},
    }
    return {**found, **({"gen_ai.conversation.id": conversation} if conversation else {})}


def ended_span(attributes: dict[str, Any], name: str = "chat gpt-5") -> ReadableSpan:
    """A span of the real SDK."""
    span = TracerProvider(shutdown_on_exit=False).get_tracer("agent").start_span(name, attributes=attributes)
    span.end()
    assert isinstance(span, ReadableSpan)
    return span


def exported(url: str, spans: Sequence[ReadableSpan], **options: Any) -> bool:
    """Export *spans* by the real exporter to *url*; return whether it was acknowledged."""
    exporter = OTLPSpanExporter(endpoint=url, **options)
    try:
        return exporter.export(spans) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


def value_json(value: Any) -> dict[str, Any]:
    """A value of OTLP JSON."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [value_json(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": pairs_json(value)}}
        case _:
            return {"stringValue": value}


def pairs_json(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes of OTLP JSON."""
    return [{"key": name, "value": value_json(value)} for name, value in attributes.items() if value is not None]


def span_json(attributes: dict[str, Any], *, span: int, trace: int = 1, at: int | None = None) -> dict[str, Any]:
    """A span of OTLP JSON with small numbers as ids."""
    moment = 1_770_000_000_000_000_000 + (span if at is None else at) * 1_000_000_000
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{span:016x}",
        "name": "chat gpt-5",
        "startTimeUnixNano": str(moment),
        "endTimeUnixNano": str(moment + 500_000_000),
        "attributes": pairs_json(attributes),
    }


def traces_json(*spans: dict[str, Any]) -> dict[str, Any]:
    """A request of OTLP JSON with *spans*."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "agent"}, "spans": list(spans)}]}]}


def logs_json(*records: dict[str, Any]) -> dict[str, Any]:
    """A request of OTLP JSON with log *records*."""
    return {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": list(records)}]}]}
