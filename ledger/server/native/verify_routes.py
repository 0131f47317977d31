"""Verify a session or a namespace and follow how far it is (server-sent events): no deadline ends a long proof."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Query, Request

from ledger.application.json_models.shapes import Shape, UserId
from ledger.errors import LedgerError
from ledger.events.canonical import canonical_json
from ledger.ports.token_store import ACCESS
from ledger.server.access.callers import Caller, ReadCaller, still_permits
from ledger.server.http.dependencies import LedgerOf
from ledger.server.http.route_kinds import native_router
from ledger.server.native.audit_routes import FindingShape, verdict_of
from ledger.server.native.server_sent_events import CHECK_S, EventStream
from ledger.server.native.session_conditions_of_writes import SessionOf
from ledger.server.traffic.slots import SLOT
from ledger.verification import Finding

router = native_router(tags=["proof"])

#: Verifies, and calls its argument with how many events were checked, and of how many.
Verify: TypeAlias = Callable[[Callable[[int, int], None]], Awaitable[Shape]]

_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events `progress`, then one `verdict`, or `error` if it could not be finished.",
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "required": ["event", "data"],
                    "properties": {
                        "event": {"enum": ["progress", "verdict", "error"]},
                        "data": {"type": "string", "description": "JSON."},
                    },
                },
                "example": {"event": "progress", "data": '{"checked":1000,"total":2310}'},
            }
        },
    },
}


class PlacedFindingShape(FindingShape):
    """A difference from what was written, and the session that has it."""

    session_id: str | None
    user_id: UserId


class NamespaceVerdictShape(Shape):
    """Whether the log of a namespace is as it was written."""

    verdict: str
    checked: int
    findings: list[PlacedFindingShape]


@router.get(
    "/v1/sessions/{session_id}/verify-stream",
    responses=_STREAM,
    response_class=EventStream,
    operation_id="stream_session_verdict",
)
async def of_session(
    request: Request, session: SessionOf, caller: ReadCaller, namespace: Annotated[str | None, Query()] = None
) -> EventStream:
    """Verify a session, as `POST …/verify` does, and say meanwhile how far it is."""

    async def verify(progress: Callable[[int, int], None]) -> Shape:
        verdict, _ = await verdict_of(session, progress)
        return verdict

    return await _followed(request, caller.namespace(namespace), verify)


@router.get("/v1/verify-stream", responses=_STREAM, response_class=EventStream, operation_id="stream_namespace_verdict")
async def of_namespace(
    request: Request, ledger: LedgerOf, caller: ReadCaller, namespace: Annotated[str | None, Query()] = None
) -> EventStream:
    """Verify the log of a namespace, and say meanwhile how far it is."""
    name = caller.namespace(namespace)

    async def verify(progress: Callable[[int, int], None]) -> Shape:
        report = await ledger.verify(progress=progress)
        findings = [_shown(finding, caller) for finding in report.findings]
        return NamespaceVerdictShape(verdict=report.verdict, checked=report.checked, findings=findings)

    return await _followed(request, name, verify)


def _shown(finding: Finding, caller: Caller) -> PlacedFindingShape:
    """Return *finding*; of API tokens, which are of all namespaces, not more than that to a caller of some only."""
    if finding.namespace == ACCESS.namespace and caller.namespaces is not None:
        return PlacedFindingShape(
            version=None,
            position=None,
            layer=finding.layer,
            problem="the API tokens are not as they were written",
            session_id=None,
            user_id=None,
        )
    return PlacedFindingShape(**{name: getattr(finding, name) for name in PlacedFindingShape.model_fields})


async def _followed(request: Request, namespace: str, verify: Verify) -> EventStream:
    """Return a stream of the progress and the verdict of *verify*, which is stopped when the reader goes.

    Raises:
        LedgerError: it cannot begin, as for a session that does not exist.
    """
    if SLOT in request.scope:
        request.scope[SLOT].move("stream")
    lines = asyncio.Queue[bytes]()
    work = asyncio.ensure_future(
        verify(lambda checked, total: lines.put_nowait(_line("progress", {"checked": checked, "total": total})))
    )
    work.add_done_callback(lambda _: lines.put_nowait(b""))
    try:
        first = await lines.get()
        if not first:
            await work  # what it raises is the answer
    except BaseException:
        work.cancel()
        raise
    return EventStream(_sent(request, namespace, work, lines, first))


async def _sent(
    request: Request, namespace: str, work: asyncio.Future[Shape], lines: asyncio.Queue[bytes], line: bytes
) -> AsyncIterator[bytes]:
    next_check_s = time.monotonic() + CHECK_S
    try:
        while line:
            yield line
            if time.monotonic() >= next_check_s:
                if not await still_permits(request, "read", namespace):
                    return
                next_check_s = time.monotonic() + CHECK_S
            line = await lines.get()
        yield _line("verdict", work.result().model_dump(mode="json"))
    except LedgerError as fault:
        yield _line("error", {"code": fault.code, "detail": "it could not be finished; try again"})
    finally:
        work.cancel()


def _line(event: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), canonical_json(data))
