"""Requests and answers of OTLP over HTTP: JSON or protobuf, perhaps compressed. Source: adapters IN-13."""

import base64
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

import msgspec
from fastapi import Request
from starlette.responses import Response

from ledger.errors import ImportRefused, InvalidInput
from ledger.events.strict_json import JsonLimits
from ledger.formats.importers.elements.damaged import clean, parsed
from ledger.formats.importers.opentelemetry.otlp_records import KINDS, TelemetryRecord, records_of
from ledger.server.http.compressed_bodies import unpacked
from ledger.server.http.strict_body import media_type_of, raw_body

OtlpSignal: TypeAlias = Literal["traces", "logs"]

_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_REJECTED: Final[dict[OtlpSignal, str]] = {"traces": "rejectedSpans", "logs": "rejectedLogRecords"}
#: Nested values of OTLP JSON take three levels for each of their own.
_DEPTH: Final = 96
_VALUES: Final = 1_000_000


class OtlpRequest(msgspec.Struct, frozen=True):
    """What was sent, and in which form the answer goes."""

    records: list[TelemetryRecord]
    media_type: str


async def read_otlp(request: Request, signal: OtlpSignal, *, most_bytes: int) -> OtlpRequest:
    """Return the records of *request*, which may have at most *most_bytes*, also when it is unpacked.

    Raises:
        InvalidInput: ``unsupported_media_type``, ``unsupported_encoding``, ``too_large``, or it cannot be read.
    """
    media_type = media_type_of(request)
    if media_type not in {_JSON, _PROTOBUF}:
        message = f"send {_PROTOBUF} or {_JSON}: OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
        raise InvalidInput("unsupported_media_type", message, field="content-type")
    if media_type == _PROTOBUF:
        _require_protobuf()
    body = unpacked(await raw_body(request), request.headers.get("content-encoding", "identity"), most_bytes)
    if media_type == _JSON:
        limits = JsonLimits(size=most_bytes, depth=_DEPTH, values=_VALUES)
        found, is_damaged = parsed(body, limits) if body else ({}, False)
        value = clean(found) if is_damaged else found
    else:
        value = clean(_of_protobuf(body, signal))
    wanted = KINDS[signal][0]
    if not isinstance(value, dict) or not isinstance(value.get(wanted, []), list):
        raise InvalidInput("bad_shape", f"must be an object with {wanted}", field="body")
    try:
        return OtlpRequest(list(records_of({wanted: value.get(wanted, [])})), media_type)
    except ImportRefused:
        raise InvalidInput("bad_shape", "a record does not have the shape of OTLP", field=wanted) from None


def otlp_answer(media_type: str, signal: OtlpSignal, rejected: int, message: str) -> Response:
    """Return the answer to a request of which *rejected* records were not stored; with a *message* also a warning."""
    partial: dict[str, Any] = {"errorMessage": message} if message else {}
    if rejected:
        partial[_REJECTED[signal]] = str(rejected)
    value = {"partialSuccess": partial} if partial else {}
    if media_type == _JSON:
        return Response(msgspec.json.encode(value), media_type=_JSON)
    from google.protobuf.json_format import ParseDict  # noqa: PLC0415 - an extra

    return Response(ParseDict(value, _messages(signal)[1]()).SerializeToString(), media_type=_PROTOBUF)


def _require_protobuf() -> None:
    try:
        import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    except ImportError:
        message = "the service cannot read protobuf: send application/json, or install 'memory-ledger[tracing]' there"
        raise InvalidInput("unsupported_media_type", message, field="content-type") from None


def _messages(signal: OtlpSignal) -> tuple[Any, Any]:
    """Return the messages of a request and of its answer."""
    if signal == "traces":
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces  # noqa: PLC0415 - an extra

        return traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs  # noqa: PLC0415 - an extra

    return logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse


def _of_protobuf(body: bytes, signal: OtlpSignal) -> Any:
    """Return a request of protobuf as OTLP JSON has it."""
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - an extra
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra

    message = _messages(signal)[0]()
    try:
        message.ParseFromString(body)
        value = MessageToDict(message)
    except (DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        raise InvalidInput("bad_request", "the body is no request of OTLP in protobuf", field="body") from None
    outer, inner, records = KINDS[signal]
    for resource in value.get(outer, ()):
        for scope in resource.get(inner, ()):
            for record in scope.get(records, ()):
                for name in ("traceId", "spanId"):  # OTLP JSON has them in hex
                    record[name] = base64.b64decode(record.get(name, "")).hex()
    return value
