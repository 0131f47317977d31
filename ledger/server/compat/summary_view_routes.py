"""The routes of summary views and of their runs, which clients call tasks. Source: http §2.4."""

from typing import Annotated, Any, Final, Literal

from fastapi import Body as JsonBody
from fastapi import Query
from pydantic import Field, model_validator
from starlette.responses import JSONResponse, Response

from ledger.application.handle import NamespaceHandle
from ledger.application.summarizing.summary_view_runs import request_run
from ledger.application.summarizing.summary_view_use import (
    PartitionResult,
    create_view,
    delete_view,
    get_partitions,
    get_views,
    namespaces_with_views,
    run_partition,
)
from ledger.errors import InvalidInput
from ledger.events import JsonObject, SummaryViewDefinition, to_datetime
from ledger.server.access.callers import Caller, ReadCaller, WriteCaller
from ledger.server.compat.compat_answers import moment
from ledger.server.compat.compat_bodies import ItemId, Whole
from ledger.server.compat.compat_shapes import AcknowledgedOut, PartitionOut, SummaryViewOut, TaskOut
from ledger.server.compat.locating import Locator
from ledger.server.compat.long_term_memory_routes import check_enabled
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import compat_router
from ledger.server.http.strict_body import LenientBody
from ledger.server.service import Service
from projections.records.summary_views import Run, SummaryView, SummaryViews

router = compat_router(tags=["summary views"])

_LONG_TERM: Final = "long_term"
_NO_MEMORIES: Final = "no_matching_memories"
_GroupValue = Annotated[str | None, Query()]


class ViewBody(LenientBody):
    """The definition of a view."""

    name: str | None = Field(default=None, max_length=255)
    source: Literal["long_term", "working_memory"]
    group_by: list[str] = Field(default_factory=list, max_length=20)
    filters: JsonObject = Field(default_factory=dict)
    time_window_days: Whole | None = Field(default=None, ge=1, le=36_500)
    continuous: bool = False
    prompt: str | None = Field(default=None, max_length=10_000)
    model_name: str | None = Field(default=None, min_length=1, max_length=100)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, sent: Any) -> Any:
        """Treat null as absent."""
        return {name: value for name, value in sent.items() if value is not None} if isinstance(sent, dict) else sent


class GroupBody(LenientBody):
    """The partition to summarize."""

    group: dict[str, Annotated[str, Field(max_length=255)]]


class RunBody(LenientBody):
    """The id of the task, if the client chooses it; *force* summarizes again what has not changed."""

    task_id: Annotated[ItemId, Field(pattern="^[^/]+$")] | None = None  # it stands in the path of a task
    force: bool = False


@router.post("/v1/summary-views")
async def create(
    sent: Annotated[ViewBody, JsonBody()], caller: WriteCaller, service: ServiceOf, namespace: _GroupValue = None
) -> SummaryViewOut:
    """Define a view of long-term memory, in the namespace of its filter, or else in the caller's."""
    # http W-36
    check_enabled(service)
    caller.require("read")  # a result says what the memories say
    if sent.source != _LONG_TERM:
        raise InvalidInput("bad_view", "source must be 'long_term'; 'working_memory' is not supported")
    named = sent.filters.get("namespace", namespace)
    if named is not None and not isinstance(named, str):
        raise InvalidInput("bad_view", "the filter namespace must be one name: a view summarizes one namespace")
    handle = service.handle(caller.namespace(named), caller)
    definition = SummaryViewDefinition(
        name=sent.name,
        group_by=tuple(sent.group_by),
        filters=sent.filters,
        time_window_days=sent.time_window_days,
        continuous=sent.continuous,
        prompt=sent.prompt,
        model_name=sent.model_name,
    )
    return _view(await create_view(handle, definition), definition)


@router.get("/v1/summary-views")
async def list_views(caller: ReadCaller, service: ServiceOf) -> list[SummaryViewOut]:
    """List the views, the oldest first."""
    # http W-36
    found = await _all_views(service, caller)
    views = {view_id: view.definition for _, state in found for view_id, view in state.views.items()}
    return [_view(view_id, views[view_id]) for view_id in sorted(views)]


@router.get("/v1/summary-views/{view_id}", response_model=SummaryViewOut)
async def get(view_id: str, caller: ReadCaller, service: ServiceOf) -> SummaryViewOut | Response:
    """Return a view."""
    # http W-36
    found = await _find(service, caller, view_id)
    return _missing(view_id) if found is None else _view(view_id, found[1].definition)


@router.delete("/v1/summary-views/{view_id}")
async def delete(view_id: str, caller: WriteCaller, service: ServiceOf) -> AcknowledgedOut:
    """Delete a view with its results; their history stays."""
    # http W-36
    found = await _find(service, caller, view_id)
    if found is not None:
        await delete_view(found[0], view_id)
    return AcknowledgedOut(status="ok")


@router.post("/v1/summary-views/{view_id}/partitions/run", response_model=PartitionOut)
async def summarize_partition(
    view_id: str, sent: Annotated[GroupBody, JsonBody()], caller: WriteCaller, service: ServiceOf
) -> PartitionOut | Response:
    """Summarize one partition now, and store the result."""
    # http W-37
    caller.require("read")  # the answer says what the memories say
    found = await _find(service, caller, view_id)
    result = None if found is None else await run_partition(found[0], view_id, found[1], sent.group)
    return _missing(view_id) if result is None else _partition(result)


@router.get("/v1/summary-views/{view_id}/partitions", response_model=list[PartitionOut])
async def list_partitions(
    view_id: str,
    caller: ReadCaller,
    service: ServiceOf,
    user_id: _GroupValue = None,
    namespace: _GroupValue = None,
    session_id: _GroupValue = None,
    memory_type: _GroupValue = None,
) -> list[PartitionOut] | Response:
    """List the stored results of a view; nothing is computed."""
    # http W-37
    found = await _find(service, caller, view_id)
    if found is None:
        return _missing(view_id)
    handle, view = found
    if namespace not in {None, handle.namespace}:
        return []
    asked = {"user_id": user_id, "session_id": session_id, "memory_type": memory_type}
    group = {name: value for name, value in asked.items() if value is not None}
    return [_partition(result) for result in await get_partitions(handle, view, group=group)]


@router.post("/v1/summary-views/{view_id}/run", response_model=TaskOut)
async def run(
    view_id: str, sent: Annotated[RunBody, JsonBody()], caller: WriteCaller, service: ServiceOf
) -> TaskOut | Response:
    """Let a worker summarize all partitions, and return the task that shows how far it is."""
    # http W-38
    found = await _find(service, caller, view_id)
    if found is None:
        return _missing(view_id)
    task_id = sent.task_id or service.clock.ulid()
    requested = await request_run(found[0], view_id, task_id, force=sent.force)
    return _missing(view_id) if requested is None else _task(task_id, requested)


@router.get("/v1/tasks/{task_id}", response_model=TaskOut)
async def get_task(task_id: str, caller: ReadCaller, service: ServiceOf) -> TaskOut | Response:
    """Return how far a run is; for a week after it has ended."""
    # http W-38
    for _, state in await _all_views(service, caller):
        found = state.runs.get(task_id)
        if found is not None and found.is_known(service.clock.now()):
            return _task(task_id, found)
    return JSONResponse({"detail": f"Task {task_id} not found"}, 404)


async def _all_views(service: Service, caller: Caller) -> list[tuple[NamespaceHandle, SummaryViews]]:
    """Return the views of each namespace that *caller* may use and that has any. Source: http W-75."""
    check_enabled(service)
    names = await namespaces_with_views(service.services, await Locator(service, caller).permitted())
    handles = [service.handle(name, caller) for name in names]
    return [(handle, await get_views(handle)) for handle in handles]


async def _find(service: Service, caller: Caller, view_id: str) -> tuple[NamespaceHandle, SummaryView] | None:
    for handle, state in await _all_views(service, caller):
        if view_id in state.views:
            return handle, state.views[view_id]
    return None


def _missing(view_id: str) -> Response:
    return JSONResponse({"detail": f"SummaryView {view_id} not found"}, 404)


def _view(view_id: str, definition: SummaryViewDefinition) -> SummaryViewOut:
    return SummaryViewOut(
        id=view_id,
        name=definition.name,
        source=_LONG_TERM,
        group_by=list(definition.group_by),
        filters=definition.filters,
        time_window_days=definition.time_window_days,
        continuous=definition.continuous,
        prompt=definition.prompt,
        model_name=definition.model_name,
    )


def _partition(result: PartitionResult) -> PartitionOut:
    empty = not result.event.memory_count
    return PartitionOut(
        view_id=result.event.view_id,
        group=result.event.group,
        summary=result.event.summary,
        memory_count=result.event.memory_count,
        empty=empty,
        empty_reason=_NO_MEMORIES if empty else None,
        computed_at=moment(result.computed_at) or "",
    )


def _task(task_id: str, run: Run) -> TaskOut:
    times = {
        "created_at": run.requested_us,
        "started_at": run.started_us,
        "completed_at": run.ended_us,
    }
    shown = {name: None if us is None else moment(to_datetime(us)) for name, us in times.items()}
    return TaskOut(
        id=task_id,
        type="summary_view_full_run",
        status=run.status,
        view_id=run.view_id,
        created_at=shown["created_at"] or "",
        started_at=shown["started_at"],
        completed_at=shown["completed_at"],
        error_message=run.error,
    )
