"""Take in what agents export over OTLP/HTTP: the messages of model calls in traces and logs.

Source: adapters IN-13.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response

from ledger.application.handle import NamespaceHandle
from ledger.application.recorded_calls import record_call
from ledger.application.seen_branches import SeenBranches
from ledger.errors import InvalidInput, NotPermitted
from ledger.importers.parts.call_groups import combined, groups_of
from ledger.importers.parts.reported_calls import ReportedCall, calls_of
from ledger.server.callers import WriteCaller
from ledger.server.dependencies import HandleOf, ServiceOf
from ledger.server.otlp_bodies import OtlpSignal, otlp_answer, read_otlp
from ledger.server.routes import native_router

router = native_router(prefix="/v1/otlp/v1", tags=["opentelemetry"])
log = logging.getLogger("ledger.otlp")

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {name: {} for name in ("application/x-protobuf", "application/json")},
    }
}
_CAPTURE: Final = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY and "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental where the agent runs"
)
_WHY: Final = {
    "none": f"{{}} calls of models without content; {_CAPTURE}",
    "unreadable": "{} calls of models whose messages are no JSON of the conventions; see if a limit cut them",
    "refused": "{} calls of models over a limit of an entry",
    "not_permitted": "{} calls of models with system instructions; give the token of the exporter the scope system",
}


@router.post("/traces", openapi_extra=_BODY, response_class=Response, operation_id="otlp_traces")
async def traces(request: Request, caller: WriteCaller, handle: HandleOf, service: ServiceOf) -> Response:
    """Store the model calls among the spans of an OTLP request, each once; answered when they are durable."""
    return await _taken(request, handle, "traces", service.settings.max_body_bytes)


@router.post("/logs", openapi_extra=_BODY, response_class=Response, operation_id="otlp_logs")
async def logs(request: Request, caller: WriteCaller, handle: HandleOf, service: ServiceOf) -> Response:
    """Store the model calls among the log records of an OTLP request, each once; answered when they are durable."""
    return await _taken(request, handle, "logs", service.settings.max_body_bytes)


async def _taken(request: Request, handle: NamespaceHandle, signal: OtlpSignal, most_bytes: int) -> Response:
    sent = await read_otlp(request, signal, most_bytes=most_bytes)
    outcomes: Counter[str] = Counter()
    found = list(calls_of(sent.records))
    outcomes["none"] = sum(call.content == "none" for call in found)
    seen = SeenBranches(found)
    for group in groups_of(call for call in found if call.content != "none"):
        outcomes.update(await _outcomes(handle, group, seen))
    counts = {name: number for name, number in outcomes.items() if number and name != "read"}
    if counts:
        log.warning("OTLP records not stored as messages", extra={"fields": counts})
    message = "; ".join(_WHY[name].format(number) for name, number in sorted(counts.items()))
    return otlp_answer(sent.media_type, signal, outcomes["refused"] + outcomes["not_permitted"], message)


async def _outcomes(handle: NamespaceHandle, group: Sequence[ReportedCall], seen: SeenBranches) -> list[str]:
    """Record the calls of a *group*, and return the content of each, or why it was not recorded."""
    try:
        await record_call(handle, combined(group), seen)
    except (InvalidInput, NotPermitted) as fault:
        if len(group) > 1:  # all but the refused one are recorded
            return [(await _outcomes(handle, [call], seen))[0] for call in group]
        return ["not_permitted" if isinstance(fault, NotPermitted) else "refused"]
    return [call.content for call in group]
