"""Fork a session within its namespace, and list the forks of it and of its parents (http W-70)."""

from typing import Annotated

from pydantic import ConfigDict, Field
from starlette.responses import Response

from ledger.application.json_models.session_json import FamilyShape
from ledger.application.json_models.shapes import Shape
from ledger.errors import InvalidInput
from ledger.events.names import check_name
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.session_conditions_of_writes import ConditionsOf, SessionOf, never_future, tag

router = native_router(prefix="/v1/sessions/{session_id}", tags=["managing"])
families = native_router(prefix="/v1/sessions/{session_id}", tags=["sessions"])


class NewFork(StrictBody):
    """The new session, by default of the same user, and the point of the fork, by default now."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"session_id": "support-42-again", "version": 3}]})

    session_id: str
    user_id: str | None = None
    version: Annotated[int, Field(ge=0, le=INT_MAX)] | None = None
    at: str | None = Field(default=None, description="ISO 8601 with an offset.")


class ForkShape(Shape):
    """Where the new session goes on: *version* is its first event, *at_version* the last that it shares."""

    session_id: str
    user_id: str | None
    forked_from: str
    at_version: int
    version: int
    position: int
    event_id: str
    hash: str


@router.post("/fork", status_code=201, operation_id="fork")
async def fork(
    session: SessionOf,
    body: NewFork,
    caller: WriteCaller,
    conditions: ConditionsOf,
    service: ServiceOf,
    response: Response,
) -> ForkShape:
    """Begin a session that shares this one's history up to a version, by reference; both go on by themselves."""
    if body.version is not None and body.at is not None:
        raise InvalidInput("bad_version", "must not be sent together with version", field="at")
    if conditions.if_match:
        await conditions.require(session)
    forked = await session.ledger.fork(
        new_session_id=check_name(body.session_id, field="session_id"),
        new_user_id=body.user_id,
        version=body.version,
        at=never_future(service, body.at),
        idempotency_key=conditions.key,
        **session.names,
    )
    await tag(response, session, forked.version, digest=bytes.fromhex(forked.hash), replayed=forked.replayed)
    return ForkShape.model_validate(forked)


@families.get("/family", operation_id="get_family")
async def family(session: SessionOf, caller: ReadCaller) -> FamilyShape:
    """Return the session, those it was forked from, and all forks of these, at most 500."""
    return FamilyShape.model_validate(await session.ledger.family(**session.names))
