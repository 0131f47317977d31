"""Proving the log, what a model saw, and where an entry went (http W-72, trust §12, P-17)."""

from collections.abc import Callable

from starlette.responses import Response

from ledger.application.json_models.audit_json import DerivedShape, SeenShape
from ledger.application.json_models.shapes import Shape
from ledger.events.names import check_entry_id
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.native.entry_routes import EntryIdParameter
from ledger.server.native.session_conditions_of_writes import RequestedSession, SessionOf, never_future, tag
from ledger.server.native.state_routes import AtTime, VersionOf, when

router = native_router(prefix="/v1/sessions/{session_id}", tags=["proof"])

#: The layer of a finding about reads, not about the log; trust §6 counts from 1.
_PROJECTION = 0


class HeadShape(Shape):
    """The newest event."""

    version: int
    hash: str


class FindingShape(Shape):
    """A difference from what was written; *layer* is that of the failed proof, 0 for reads."""

    version: int | None
    position: int | None
    layer: int
    problem: str


class VerdictShape(Shape):
    """Whether the log is as it was written, and reads answer what it says."""

    verdict: str
    checked: int
    head: HeadShape
    findings: list[FindingShape]


@router.post("/verify", operation_id="verify")
async def verify(session: SessionOf, caller: ReadCaller, response: Response) -> VerdictShape:
    """Recompute every hash from the stored bytes, and replay the session from its first event."""
    verdict, version = await verdict_of(session)
    await tag(response, session, version)
    return verdict


async def verdict_of(
    session: RequestedSession, progress: Callable[[int, int], None] = lambda done, total: None
) -> tuple[VerdictShape, int]:
    """Return the verdict on *session*, and the version it is at; *progress* gets (events checked, all).

    Raises:
        SessionNotFound: the session has no events.
    """
    report = await session.ledger.verify(progress=progress, **session.names)
    newest = await session.ledger.get_log(after_version=max(0, report.checked - 1), **session.names)
    head = newest.events[0] if newest.events else None
    findings = [
        FindingShape(version=finding.version, position=finding.position, layer=finding.layer, problem=finding.problem)
        for finding in report.findings
    ]
    verdict: str = report.verdict
    if report.ok and not await session.ledger.matches_replay(**session.names):
        verdict = "TAMPERED"
        problem = "reads do not agree with a replay"
        findings.append(FindingShape(version=report.checked, position=None, layer=_PROJECTION, problem=problem))
    shape = VerdictShape(
        verdict=verdict,
        checked=report.checked,
        head=HeadShape(version=head.version if head else report.checked, hash=head.hash if head else ""),
        findings=findings,
    )
    return shape, newest.version


@router.get("/seen", operation_id="seen")
async def seen(
    session: SessionOf, caller: ReadCaller, service: ServiceOf, version: VersionOf = None, at: AtTime = None
) -> SeenShape:
    """Return what the model saw: the newest context recorded up to that point, else what it would have been."""
    found = await session.ledger.seen(**session.names, **when(version, never_future(service, at)))
    return SeenShape.model_validate(found)


@router.get("/entries/{entry_id}/derived", operation_id="derived")
async def derived(session: SessionOf, entry_id: EntryIdParameter, caller: ReadCaller) -> DerivedShape:
    """Return every summary and recorded context that an entry reached."""
    name = check_entry_id(entry_id, field="entry_id")
    return DerivedShape.model_validate(await session.ledger.derived(entry_id=name, **session.names))
