"""Compare two points of a session, or two memory configs; check a config (http W-72)."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from ledger.application.json_models.comparison_json import ConfigCheckShape, DifferenceShape
from ledger.errors import InvalidInput
from ledger.events.strict_json import INT_MAX
from ledger.results import ConfigLike, Point
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.session_conditions_of_writes import SessionOf, never_future
from ledger.server.service import Service
from projections.memory_config import config as memory_config
from projections.memory_config import config_check

router = native_router(prefix="/v1/sessions/{session_id}", tags=["proof"])
alone = native_router(prefix="/v1/config/check", tags=["proof"])

VersionNumber = Annotated[int, Field(ge=0, le=INT_MAX)]


class PointBody(StrictBody):
    """A version or a moment; now, if neither is given."""

    version: VersionNumber | None = None
    at: str | None = Field(default=None, description="ISO 8601 with an offset.")


class DiffRequest(StrictBody):
    """Two points; or a version, now unless given, and a memory config to replay the session under."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"before": {"version": 2}, "after": {}},
                {"what_if": {"window": {"type": "max_tokens", "memory_max_tokens": 1000}}, "on_miss": "estimate"},
            ]
        }
    )

    before: PointBody | None = None
    after: PointBody | None = None
    version: VersionNumber | None = None
    what_if: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "array"}, {"type": "null"}]})] = None
    on_miss: Literal["raise", "call", "estimate"] | None = None


@router.post("/diff", operation_id="diff")
async def diff(session: SessionOf, body: DiffRequest, caller: ReadCaller, service: ServiceOf) -> DifferenceShape:
    """Compare two points of a session, or the session with what it would be under another config; writes nothing."""
    before, after = _points(body, service)
    if body.on_miss == "call":
        caller.require("write")  # it costs money
    found = await session.ledger.diff(before=before, after=after, on_miss=body.on_miss or "raise", **session.names)
    return DifferenceShape.model_validate(found)


class CheckRequest(StrictBody):
    """A memory config; on a session, it is replayed under it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"config": {"window": {"type": "max_tokens", "memory_max_tokens": 1000}}}]}
    )

    config: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "array"}]})]


@alone.post("", operation_id="check_config")
async def check_config(body: CheckRequest, caller: ReadCaller) -> ConfigCheckShape:
    """Say what is probably wrong with a memory config."""
    found = config_check.check(memory_config.load(_config(body.config, "config")))
    return ConfigCheckShape.model_validate({"findings": found})


@router.post("/config/check", operation_id="check_config_on_session")
async def check_config_on_session(session: SessionOf, body: CheckRequest, caller: ReadCaller) -> ConfigCheckShape:
    """Say what is probably wrong with a memory config on this session, replayed under it; writes nothing."""
    found = await session.ledger.what_if(config=_config(body.config, "config"), on_miss="estimate", **session.names)
    return ConfigCheckShape.model_validate({"findings": found.findings})


def _config(sent: Any, field: str) -> ConfigLike:
    if not isinstance(sent, dict | list):
        raise InvalidInput("wrong_type", "must be a memory config", field=field)
    return sent


def _points(body: DiffRequest, service: Service) -> tuple[Point | None, Point | None]:
    tries, compares = body.what_if is not None, body.before is not None or body.after is not None
    if tries == compares:
        raise InvalidInput("bad_value", "give before and after, or what_if", field="what_if")
    if tries:
        return body.version, _config(body.what_if, "what_if")
    if body.version is not None or body.on_miss is not None:
        raise InvalidInput("unknown_field", "goes with what_if", field="version")
    return _point(body.before, service, "before"), _point(body.after, service, "after")


def _point(point: PointBody | None, service: Service, field: str) -> Point | None:
    if point is None:
        return None
    if point.version is not None and point.at is not None:
        raise InvalidInput("bad_version", "must have a version or a time, not both", field=field)
    return point.version if point.at is None else never_future(service, point.at)
