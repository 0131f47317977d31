"""Compact, clear and configure sessions (http W-69)."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, WithJsonSchema
from starlette.responses import JSONResponse, Response

from ledger.application.json_models.compaction_json import CompactionShape, RebuildShape
from ledger.application.json_models.session_json import ExtractionShape
from ledger.application.json_models.shapes import Shape
from ledger.application.reading.session_reads import existing_state
from ledger.errors import CompactionNotCompleted, CompactionUnderWay, NotFound, NothingGained, SessionNotFound
from ledger.events import ConfigChanged, JsonObject, RebuildCompleted, SessionOpened
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.entry_routes import AtVersion
from ledger.server.native.session_conditions_of_writes import (
    ConditionsOf,
    RequestedSession,
    SessionOf,
    never_future,
    tag,
)
from ledger.server.native.state_routes import AtTime, VersionOf, when
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config

router = native_router(prefix="/v1/sessions/{session_id}", tags=["managing"])


class CompactRequest(StrictBody):
    """Which compaction to make, and how."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"force": True}]})

    key: Annotated[str, Field(max_length=128)] | None = None
    keep_tokens: Annotated[int, Field(ge=0, le=INT_MAX)] | None = Field(
        default=None, description="How many tokens at the end stay, if the strategy counts tokens."
    )
    model: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    dry_run: bool = False
    force: bool = Field(default=False, description="Compact even if the config requires more entries.")


class UnderWay(Shape):
    """A compaction that continues in the background."""

    compaction_id: str


#: Any shape of a memory config (R-CFG); the ledger checks its contents.
ConfigInput = Annotated[
    Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "array"}], "description": "A memory config."})
]


class NewConfig(StrictBody):
    """The whole memory config, in any of its shapes."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"config": {"window": {"type": "max_tokens", "memory_max_tokens": 4000}}}]}
    )

    config: ConfigInput
    rebuild: bool = Field(
        default=False,
        description="Show the history since the last clear as if the config had always applied, in the background.",
    )


class ConfigShape(Shape):
    """The whole memory config of a session, and its settings of the working-memory API.

    *since* is the version of the event that set the config.
    """

    config: JsonObject
    profile: str | None
    since: int
    ttl_seconds: int | None
    extraction: ExtractionShape
    version: int

    @classmethod
    def of(cls, state: SessionState, version: int, since: int) -> "ConfigShape":
        """Return the configuration in *state*."""
        return cls(
            config=memory_config.dump(state.config),
            profile=state.config.profile,
            since=since,
            ttl_seconds=state.working.ttl_seconds,
            extraction=ExtractionShape.model_validate(state.working.extraction),
            version=version,
        )


_COMPACTS: Final[dict[int | str, dict[str, Any]]] = {
    202: {"model": UnderWay, "description": "It continues in the background."}
}
_REBUILDS: Final[dict[int | str, dict[str, Any]]] = {
    202: {"model": RebuildShape, "description": "The rebuild goes on in the background."}
}


@router.post("/compact", responses=_COMPACTS, response_model=CompactionShape, operation_id="compact")
async def compact(
    session: SessionOf,
    body: CompactRequest,
    caller: WriteCaller,
    conditions: ConditionsOf,
    service: ServiceOf,
    response: Response,
) -> CompactionShape | Response:
    """Compact now, by the config's compaction with this key or its first one."""
    if body.dry_run:
        plan = await session.ledger.plan_compression(
            key=body.key, force=body.force, keep_tokens=body.keep_tokens, **session.names
        )
        version = (await session.state()).version
        await tag(response, session, version)
        return CompactionShape.planned(plan, version)
    await session.state()
    try:
        with conditions.hold():
            done = await session.ledger.compress(
                key=body.key,
                force=body.force,
                keep_tokens=body.keep_tokens,
                model=body.model,
                wait_s=service.settings.summarization_wait_seconds,
                **session.names,
                **await conditions.guard(session),
            )
    except CompactionUnderWay as going:
        return JSONResponse({"compaction_id": going.compaction_id}, status_code=202)
    except CompactionNotCompleted as failed:
        if failed.reason == "no_gain":
            raise NothingGained from failed
        raise
    await tag(response, session, done.version, replayed=done.replayed)
    return CompactionShape.model_validate(done)


@router.post("/clear", operation_id="clear")
async def clear(session: SessionOf, caller: WriteCaller, conditions: ConditionsOf, response: Response) -> AtVersion:
    """Clear window and summaries; the session stays live, with its config, data, memories and lifetime."""
    with conditions.hold():
        version = await session.ledger.clear_session(**session.names, **await conditions.guard(session))
    if not version:
        raise SessionNotFound(session.session_id)
    await tag(response, session, version, replayed=version.replayed)
    return AtVersion(version=version)


@router.get("/config", operation_id="get_config")
async def show_config(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    response: Response,
    version: VersionOf = None,
    at: AtTime = None,
) -> ConfigShape:
    """Return the memory config, now, at a version, or at a moment."""
    state = await existing_state(session.handle, **session.names, **when(version, never_future(service, at)))
    await tag(response, session, state.version)
    return ConfigShape.of(state, state.version, await _since(session, state.version))


@router.put("/config", responses=_REBUILDS, response_model=ConfigShape, operation_id="put_config")
async def put_config(
    session: SessionOf, body: NewConfig, caller: WriteCaller, conditions: ConditionsOf, response: Response
) -> ConfigShape | Response:
    """Replace the memory config; a session that does not exist is created, unless `If-Match` is sent.

    With *rebuild* the answer is 202 and the session goes on as before until the rebuild is completed.
    """
    with conditions.hold():
        done = await session.ledger.update_config(
            config=body.config, replace=True, rebuild=body.rebuild, **session.names, **await conditions.guard(session)
        )
    await tag(response, session, done.version, replayed=done.replayed)
    if done.rebuild_id is not None:
        found = await _rebuild(session)
        return JSONResponse(found.model_dump(mode="json"), status_code=202, headers=dict(response.headers))
    state = await existing_state(session.handle, version=done.version, **session.names)
    return ConfigShape.of(state, done.version, await _since(session, done.version))


@router.get("/rebuild", operation_id="get_rebuild")
async def show_rebuild(session: SessionOf, caller: ReadCaller) -> RebuildShape:
    """Return the newest rebuild in this life of the session: how far it is, or how it ended."""
    return await _rebuild(session)


async def _rebuild(session: RequestedSession) -> RebuildShape:
    found = await session.ledger.get_rebuild(**session.names)
    if found is None:
        raise NotFound("this session has not been rebuilt; put its config with rebuild")
    return RebuildShape.model_validate(found)


async def _since(session: RequestedSession, version: int) -> int:
    """Return the version of the event that set the config of *version*."""
    events = session.handle.services.store.events
    kinds = (ConfigChanged.type, RebuildCompleted.type, SessionOpened.type)
    return max([await events.find_newest(session.stream, kind, until=version) for kind in kinds])
