"""Change the data of a session, and restore a past state (http W-66, W-70)."""

from typing import Annotated, Any

from fastapi import Body
from pydantic import ConfigDict, Field
from starlette.responses import Response

from ledger.application.json_models.shapes import Shape
from ledger.events import JsonObject
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import WriteCaller
from ledger.server.http.route_kinds import native_router, patch_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.entry_routes import AtVersion, ExpectedVersion
from ledger.server.native.session_conditions_of_writes import ConditionsOf, SessionOf, tag

router = native_router(prefix="/v1/sessions/{session_id}", tags=["managing"])
patches = patch_router(prefix="/v1/sessions/{session_id}", tags=["managing"])


class DataShape(Shape):
    """The session's own JSON object, whole."""

    data: JsonObject
    version: int


class NewKeys(StrictBody):
    """Values of whole keys, and keys to remove."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"values": {"plan": {"day": 3}}, "remove": ["draft"]}]})

    values: dict[str, Any] = Field(default_factory=dict)
    remove: list[str] = Field(default_factory=list)
    expected_version: ExpectedVersion | None = None


class Back(StrictBody):
    """The version to restore."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 3}]})

    version: Annotated[int, Field(ge=1, le=INT_MAX)]


@patches.patch("/data", operation_id="patch_data")
async def patch_data(
    session: SessionOf,
    body: Annotated[dict[str, Any], Body(examples=[{"topic": "trips", "draft": None}])],
    caller: WriteCaller,
    conditions: ConditionsOf,
    response: Response,
) -> DataShape:
    """Merge a patch (RFC 7396) into the session's own JSON object; patches of other keys at the same time survive."""
    caller.require("read")  # the answer is the whole object
    with conditions.hold():
        done = await session.ledger.patch_data(patch=body, **session.names, **await conditions.guard(session))
    await tag(response, session, done.version, replayed=done.replayed)
    return DataShape(data=done.data, version=done.version)


@router.post("/data", operation_id="set_data")
async def set_data(
    session: SessionOf, body: NewKeys, caller: WriteCaller, conditions: ConditionsOf, response: Response
) -> DataShape:
    """Set whole keys of the session's own JSON object, also to null, and remove others."""
    caller.require("read")  # the answer is the whole object
    guard = await conditions.guard(session, body.expected_version)
    with conditions.hold():
        done = await session.ledger.set_data(values=body.values, remove=body.remove, **session.names, **guard)
    await tag(response, session, done.version, replayed=done.replayed)
    return DataShape(data=done.data, version=done.version)


@router.post("/restore", operation_id="restore")
async def restore(
    session: SessionOf, body: Back, caller: WriteCaller, conditions: ConditionsOf, response: Response
) -> AtVersion:
    """Restore the session to a version by new events, also after its end."""
    with conditions.hold():
        version = await session.ledger.restore(version=body.version, **session.names, **await conditions.guard(session))
    await tag(response, session, version, replayed=version.replayed)
    return AtVersion(version=version)
