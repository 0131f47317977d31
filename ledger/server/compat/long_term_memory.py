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
from ledger.server.callers import Caller, CallerOf, ReadCaller, WriteCaller
from ledger.server.compat.locating import Locator
from ledger.server.compat.models import AcknowledgedOut, ForgottenOut, RecordOut, RecordPageOut
from ledger.server.ledgers import ServiceOf
from ledger.server.routes import compat_router
from ledger.server.service import Service
from projections.record_filters import Tag

router = compat_router(tags=["long-term memory"])

_OLD_CLIENT: Final = re.compile(r"agent-memory-client/0\.(?:\d|1[0-3])\.|agent-memory-client/0\.14\.0(?!\d)")

_FilterName = Annotated[str | None, Query()]


def check_enabled(service: Service) -> None:
    """Refuse what needs long-term memory where it is turned off.

    Raises:
        InvalidInput: ``long_term_memory_disabled`` (http W-35).
    """
    if not service.settings.long_term_memory:
        raise InvalidInput("long_term_memory_disabled", "Long-term memory is disabled")


async def memory_for(service: Service, caller: Caller) -> LongTermMemory:
    """Return the long-term memory that *caller* may see.

    Raises:
        InvalidInput: it is turned off.
    """
    check_enabled(service)
    return service.services.long_term.over(await Locator(service, caller).permitted(), actor=caller.actor)


async def _memory(caller: CallerOf, service: ServiceOf) -> LongTermMemory:
    return await memory_for(service, caller)


MemoryOf: TypeAlias = Annotated[LongTermMemory, Depends(_memory)]


def search_for(caller: Caller, sent: JsonObject) -> RecordSearch:
    """Return the search that *sent* asks for.

    Raises:
        InvalidInput: see `questions.record_search`.
        NotPermitted: it names a namespace that *caller* may not see (http W-75).
    """
    asked = record_search(sent)
    for condition in asked.conditions:
        if isinstance(condition, Tag) and condition.field == "namespace" and condition.operator in {"eq", "any", "all"}:
            for name in condition.values:
                caller.require_namespace(name)
    return asked


@router.post("/v1/long-term-memory/")
async def create(sent: Annotated[dict[str, Any], JsonBody()], caller: WriteCaller, memory: MemoryOf) -> AcknowledgedOut:
    """Add records, or edit those whose ids are known; the next read sees them."""
    # http W-26
    records = sent.get("memories")
    if not isinstance(records, list):
        raise InvalidInput("wrong_type", "is a list", field="memories")
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
    """Find records by words, by meaning, and by filters, which are never relaxed."""
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
    """Delete what a policy does not keep, or say what would go."""
    # http W-28
    caller.require("read")  # the answer names records
    if dry_run is None:  # which an old client leaves out exactly when it is false
        dry_run = _OLD_CLIENT.match(user_agent) is None
    done = await memory.forget(
        sent.get("policy"),  # type: ignore[arg-type]  # what is no policy is refused there
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
    """Merge the records that say the same."""
    # http W-28
    within = None if namespace is None else caller.namespace(namespace)
    remaining = await memory.compact(namespace=within, user_id=user_id)
    return AcknowledgedOut(status=f"ok, {remaining} memories remaining after compaction")


@router.delete("/v1/long-term-memory")
async def delete(
    caller: WriteCaller, memory: MemoryOf, memory_ids: Annotated[list[str] | None, Query()] = None
) -> AcknowledgedOut:
    """Delete records; their history stays, and they can be restored."""
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
    """Change fields of a record; nulls change nothing."""
    # http W-27
    caller.require("read")  # the answer is the whole record
    if sent.get("namespace") is not None:
        sent = _placed(sent, caller)
    try:
        return _json((await memory.patch(memory_id, sent)).as_json())
    except RecordNotFound:
        return _missing(memory_id)


def _placed(record: Any, caller: Caller) -> Any:
    """Return *record* with the namespace it goes to, which the caller must be permitted (http W-75)."""
    if not isinstance(record, dict) or not isinstance(record.get("namespace"), str | None):
        return record  # refused where records are read
    return {**record, "namespace": caller.namespace(record.get("namespace"))}


def _missing(memory_id: str) -> Response:
    return JSONResponse({"detail": f"Memory with ID {memory_id} not found"}, 404)


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("wrong_type", "is true or false", field=field)
    return value


def _json(content: JsonObject) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")
