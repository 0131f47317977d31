"""The forks of a session and of its parents."""

from ledger.json_models.base import Shape, Time, UserId
from ledger.ports.session_index import SessionStatus
from ledger.server.callers import ReadCaller
from ledger.server.native.sessions import SessionOf
from ledger.server.routes import native_router

router = native_router(prefix="/v1/sessions/{session_id}", tags=["sessions"])


class FamilyMemberShape(Shape):
    """A session of a family, which shares the history of its *parent* up to version *at_version*."""

    session_id: str
    user_id: UserId
    version: int
    parent: str | None
    parent_user_id: UserId
    at_version: int | None
    status: SessionStatus
    updated_at: Time | None


class FamilyShape(Shape):
    """Sessions that share a beginning, parents before their forks: first the *root*; *cut* if there are more."""

    root: FamilyMemberShape
    members: tuple[FamilyMemberShape, ...]
    cut: bool


@router.get("/family", operation_id="get_family")
async def family(session: SessionOf, caller: ReadCaller) -> FamilyShape:
    """Return the session, those it was forked from, and all forks of these, at most 500."""
    return FamilyShape.model_validate(await session.ledger.family(**session.names))
