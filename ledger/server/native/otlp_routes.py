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
from ledger.application.recording.recorded_calls import record_call
from ledger.application.recording.seen_branches import SeenBranches
from ledger.errors import InvalidInput, NotPermitted
from ledger.formats.importers.elements.steps import GUESSED, NO_CALL, NO_RESULT, NOT_UNDERSTOOD
from ledger.formats.importers.opentelemetry.call_groups import combined, groups_of
from ledger.formats.importers.opentelemetry.otlp_dialects import DIALECTS, how_to_capture
from ledger.formats.importers.opentelemetry.otlp_records import KINDS
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, calls_of, left_out
from ledger.formats.importers.opentelemetry.reported_notes import notes_of, with_notes
from ledger.server.access.callers import WriteCaller
from ledger.server.http.dependencies import HandleOf, ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.native.otlp_bodies import OtlpSignal, otlp_answer, read_otlp

router = native_router(prefix="/v1/otlp/v1", tags=["opentelemetry"])
log = logging.getLogger("ledger.otlp")

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {name: {} for name in ("application/x-protobuf", "application/json")},
    }
}
_WHY: Final = {
    "none": "{} calls of models without content; {capture}",
    "unknown": "{} records with messages of no known dialect; known are the semantic conventions, {dialects}",
    "other": "{} records that are not about a model",
    NOT_UNDERSTOOD: "{} stored messages with parts that were not understood; they are shown by their types",
    GUESSED: "{} roles that were guessed",
    NO_CALL: "{} results of tools without a call before them",
    NO_RESULT: "{} calls of tools without a result in the request, which a later one may bring",
    "unreadable": "{} calls of models whose messages are no JSON of the conventions; see if a limit cut them",
    "refused": "{} calls of models over a limit of an entry",
    "not_permitted": "{} calls of models with system instructions; give the token of the exporter the scope system",
}
#: How many notes of a kind are named.
_MOST_NAMED: Final = 5
#: The outcomes of records that are stored nowhere.
_NOT_STORED: Final = ("none", "unknown", "other", "refused", "not_permitted")


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
    found = [with_notes(call) for call in calls_of(sent.records)]
    outcomes["none"] = sum(call.content == "none" for call in found)
    seen = SeenBranches(found)
    outcomes.update("unknown" if kind == NOT_UNDERSTOOD else "other" for kind, _ in left_out(sent.records))
    notes = list(notes_of(found))
    outcomes.update(kind for kind, _ in notes)
    for group in groups_of(call for call in found if call.content != "none"):
        outcomes.update(await _outcomes(handle, group, seen))
    counts = {name: number for name, number in outcomes.items() if number and name != "read"}
    if counts:  # a call that waits for its tool is no fault
        level = logging.WARNING if counts.keys() - {NO_RESULT} else logging.INFO
        log.log(level, "OTLP records not stored as messages, or not understood whole", extra={"fields": counts})
    dialects = {name for call in found if call.content == "none" for name in call.dialects}
    placeholders = {"capture": how_to_capture(dialects), "dialects": ", ".join(DIALECTS)}
    sentences = (
        f"{_WHY[name].format(number, **placeholders)}{_named(name, notes)}" for name, number in sorted(counts.items())
    )
    message = "; ".join(sentences)
    missing = sum(outcomes[name] for name in _NOT_STORED)
    if missing > outcomes["other"] and not outcomes["read"] + outcomes["unreadable"]:
        raise InvalidInput("nothing_stored", message, field=KINDS[signal][0])
    return otlp_answer(sent.media_type, signal, missing, message)


def _named(kind: str, notes: Sequence[tuple[str, str]]) -> str:
    """Return the first places of *notes* of a *kind*, to stand after their number."""
    places = list(dict.fromkeys(place for own, place in notes if own == kind))
    more = [f"and {len(places) - _MOST_NAMED} more"] if len(places) > _MOST_NAMED else []
    return f" ({', '.join([*places[:_MOST_NAMED], *more])})" if places else ""


async def _outcomes(handle: NamespaceHandle, group: Sequence[ReportedCall], seen: SeenBranches) -> list[str]:
    """Record the calls of a *group*, and return the content of each, or why it was not recorded."""
    try:
        await record_call(handle, combined(group), seen)
    except (InvalidInput, NotPermitted) as fault:
        if len(group) > 1:  # all but the refused one are recorded
            return [(await _outcomes(handle, [call], seen))[0] for call in group]
        return ["not_permitted" if isinstance(fault, NotPermitted) else "refused"]
    return [call.content for call in group]
