"""Routes of long-term memory. Source: http §2.3."""

import re
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from fastapi import Body as JsonBody
from fastapi import Depends, Header, Query
from starlette.responses import JSONResponse, Response

from ledger.errors import InvalidInput, RecordNotFound
from ledger.events import JsonObject
from ledger.long_term_memory import LongTermMemory, RecordSearch, record_search
from ledger.server.access.callers import Caller, CallerOf, ReadCaller, WriteCaller
from ledger.server.compat.compat_shapes import AcknowledgedOut, ForgottenOut, RecordOut, RecordPageOut
from ledger.server.compat.locating import Locator
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import compat_router
from ledger.server.service import Service
from projections.records.record_filters import Tag

router = compat_router(tags=["long-term memory"])

_OLD_CLIENT: Final = re.compile(r"agent-memory-client/0\.(?:\d|1[0-3])\.|agent-memory-client/0\.14\.0(?!\d)")

_FilterName = Annotated[str | None, Query()]


def check_enabled(service: Service) -> None:
    """Refuse a request if long-term memory is off.

    Raises:
        InvalidInput: ``long_term_memory_disabled`` (http W-35).
    """
    if not service.settings.long_term_memory:
        raise InvalidInput("long_term_memory_disabled", "Long-term memory is disabled")


async def memory_for(service: Service, caller: Caller) -> LongTermMemory:
    """Return the long-term memory of the namespaces that *caller* may use.

    Raises:
        InvalidInput: it is off.
    """
    check_enabled(service)
    permitted = await Locator(service, caller).permitted()
    return service.services.long_term.over(permitted, actor=caller.actor, counts_reads=not caller.in_viewer)


async def _memory(caller: CallerOf, service: ServiceOf) -> LongTermMemory:
    return await memory_for(service, caller)


MemoryOf: TypeAlias = Annotated[LongTermMemory, Depends(_memory)]


def search_for(caller: Caller, sent: JsonObject) -> RecordSearch:
    """Return the search in the body *sent*.

    Raises:
        InvalidInput: see `record_search`.
        NotPermitted: it names a namespace that *caller* may not use (http W-75).
    """
    search = record_search(sent)
    for condition in search.conditions:
        if isinstance(condition, Tag) and condition.field == "namespace" and condition.operator in {"eq", "any", "all"}:
            for name in condition.values:
                caller.require_namespace(name)
    return search


@router.post("/v1/long-term-memory/")
async def create(sent: Annotated[dict[str, Any], JsonBody()], caller: WriteCaller, memory: MemoryOf) -> AcknowledgedOut:
    """Create records, or edit those with known ids; the next read sees them."""
    # http W-26
    records = sent.get("memories")
    if not isinstance(records, list):
        raise InvalidInput("missing_field" if records is None else "wrong_type", "must be a list", field="memories")
    placed = [_placed(record, caller) for record in records]
    await memory.create(placed, deduplicate=_flag(sent.get("deduplicate", True), "deduplicate"))
    return AcknowledgedOut(status="ok")


@router.post("/v1/long-term-memory/search", response_model=RecordPageOut)
async def search(
    sent: Annotated[dict[str, Any], JsonBody()],
    caller: ReadCaller,
    memory: MemoryOf,
    optimize_query: Annotated[bool, Query()] = False,
) -> Response:
    """Find records by words, by meaning and by strict filters."""
    # http W-30 … W-34
    return _json((await memory.search(search_for(caller, sent))).as_json())


@router.post("/v1/long-term-memory/forget")
async def forget(
    sent: Annotated[dict[str, Any], JsonBody()],
    caller: WriteCaller,
    memory: MemoryOf,
    namespace: _FilterName = None,
    user_id: _FilterName = None,
    session_id: _FilterName = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    dry_run: Annotated[bool | None, Query()] = None,
    user_agent: Annotated[str, Header()] = "",
) -> ForgottenOut:
    """Delete records by a policy, or with `dry_run` list what would be deleted."""
    # http W-28
    caller.require("read")  # the answer names records
    if dry_run is None:  # an old client leaves it out exactly when it is false
        dry_run = _OLD_CLIENT.match(user_agent) is None
    done = await memory.forget(
        sent.get("policy"),  # type: ignore[arg-type]  # checked there
        namespace=None if namespace is None else caller.namespace(namespace),
        user_id=user_id,
        session_id=session_id,
        limit=limit,
        dry_run=dry_run,
        pinned=sent.get("pinned_ids"),
    )
    return ForgottenOut(**done.as_json())


@router.post("/v1/long-term-memory/compact")
async def compact(
    caller: WriteCaller, memory: MemoryOf, namespace: _FilterName = None, user_id: _FilterName = None
) -> AcknowledgedOut:
    """Merge records with the same content."""
    # http W-28
    within = None if namespace is None else caller.namespace(namespace)
    remaining = await memory.compact(namespace=within, user_id=user_id)
    return AcknowledgedOut(status=f"ok, {remaining} memories remaining after compaction")


@router.delete("/v1/long-term-memory")
async def delete(
    caller: WriteCaller, memory: MemoryOf, memory_ids: Annotated[list[str] | None, Query()] = None
) -> AcknowledgedOut:
    """Delete records; their history stays and they can be restored."""
    # http W-27
    deleted = await memory.delete(memory_ids or [])
    return AcknowledgedOut(status=f"ok, deleted {deleted} memories")


@router.get("/v1/long-term-memory/{memory_id}", response_model=RecordOut)
async def get(memory_id: str, caller: ReadCaller, memory: MemoryOf) -> Response:
    """Return a record."""
    # http W-27
    try:
        return _json((await memory.get(memory_id)).as_json())
    except RecordNotFound:
        return _missing(memory_id)


@router.patch("/v1/long-term-memory/{memory_id}", response_model=RecordOut)
async def patch(
    memory_id: str, sent: Annotated[dict[str, Any], JsonBody()], caller: WriteCaller, memory: MemoryOf
) -> Response:
    """Change fields of a record; null values change nothing."""
    # http W-27
    caller.require("read")  # the answer is the whole record
    if sent.get("namespace") is not None:
        sent = _placed(sent, caller)
    try:
        return _json((await memory.patch(memory_id, sent)).as_json())
    except RecordNotFound:
        return _missing(memory_id)


def _placed(record: Any, caller: Caller) -> Any:
    """Return *record* with its namespace, which the caller must be permitted to use (http W-75)."""
    if not isinstance(record, dict) or not isinstance(record.get("namespace"), str | None):
        return record  # refused by `create` and `patch`
    return {**record, "namespace": caller.namespace(record.get("namespace"))}


def _missing(memory_id: str) -> Response:
    return JSONResponse({"detail": f"Memory with ID {memory_id} not found"}, 404)


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("wrong_type", "is true or false", field=field)
    return value


def _json(content: JsonObject) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")
