"""The forks of a session and of its parents."""

from ledger.application.json_models.session_json import FamilyShape
from ledger.server.access.callers import ReadCaller
from ledger.server.http.route_kinds import native_router
from ledger.server.native.session_conditions_of_writes import SessionOf

router = native_router(prefix="/v1/sessions/{session_id}", tags=["sessions"])


@router.get("/family", operation_id="get_family")
async def family(session: SessionOf, caller: ReadCaller) -> FamilyShape:
    """Return the session, those it was forked from, and all forks of these, at most 500."""
    return FamilyShape.model_validate(await session.ledger.family(**session.names))
