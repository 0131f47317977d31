"""The forks of a session and of its parents."""

from ledger.json_models.sessions import FamilyShape
from ledger.server.callers import ReadCaller
from ledger.server.native.sessions import SessionOf
from ledger.server.routes import native_router

router = native_router(prefix="/v1/sessions/{session_id}", tags=["sessions"])


@router.get("/family", operation_id="get_family")
async def family(session: SessionOf, caller: ReadCaller) -> FamilyShape:
    """Return the session, those it was forked from, and all forks of these, at most 500."""
    return FamilyShape.model_validate(await session.ledger.family(**session.names))
