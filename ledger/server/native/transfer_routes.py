"""Export and import the whole history of a session as an export file (http W-70, trust E-12)."""

import io
from collections.abc import AsyncIterator
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response, StreamingResponse

from ledger.application.json_models.shapes import Shape
from ledger.errors import ImportRefused, SessionNotFound
from ledger.server.access.callers import ImportCaller, ReadCaller
from ledger.server.http.problems import STATUS_OF_CODE
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import read_body
from ledger.server.native.session_conditions_of_writes import SessionOf, tag

router = native_router(prefix="/v1/sessions/{session_id}", tags=["transfer"])

LINES: Final = "application/jsonl"
_MEDIA_TYPES: Final = frozenset({LINES, "application/x-ndjson"})
_EXPORTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "A header, the events and a trailer, one line each.", "content": {LINES: {}}},
}
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {LINES: {"schema": {"type": "string", "description": "An export file, unchanged."}}},
    }
}


class ImportedShape(Shape):
    """What an import added; no *entries* if the session had them all."""

    session_id: str
    version: int
    entries: int
    skipped: int


class LinesResponse(StreamingResponse):
    """An answer of JSON lines."""

    media_type = LINES


@router.get("/export", responses=_EXPORTS, response_class=LinesResponse, operation_id="export_session")
async def export(session: SessionOf, caller: ReadCaller, response: Response) -> LinesResponse:
    """Export every event of the session with its hash; a changed file cannot be imported."""
    lines = session.ledger.export_file(**session.names)
    first = await anext(lines)

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for line in lines:
            yield line

    return LinesResponse(whole())


@router.post(
    "/import",
    status_code=201,
    responses={200: {"model": ImportedShape, "description": "All events were already stored."}},
    openapi_extra=_BODY,
    operation_id="import_session",
)
async def import_(session: SessionOf, caller: ImportCaller, request: Request, response: Response) -> ImportedShape:
    """Import the one session of an export file, completely or not at all; larger files need the command line."""
    body = await read_body(request, media_types=_MEDIA_TYPES)
    before = await _version(session)
    try:
        done = await session.ledger.import_file(lambda: io.BytesIO(body), **session.names)
    except ImportRefused as refused:
        if refused.code in STATUS_OF_CODE:  # the code of a line, not of the request
            raise ImportRefused("bad_line", "must be as exported", line=refused.line, byte=refused.byte) from None
        raise
    version = await _version(session)
    if version == before:
        response.status_code = 200
    await tag(response, session, version)
    return ImportedShape(session_id=session.session_id, version=version, entries=done.entries, skipped=done.skipped)


async def _version(session: SessionOf) -> int:
    try:
        return (await session.state()).version
    except SessionNotFound:
        return 0
