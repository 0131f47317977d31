"""The routes of working memory. Source: http §2.1."""

from typing import Annotated, Final

import msgspec
from fastapi import Body as JsonBody
from fastapi import Header, Query, Request
from starlette.responses import JSONResponse, Response

from ledger.application.namespace_reads import live_sessions
from ledger.application.writing.lifetime import clear_session
from ledger.application.writing.put_working_memory import put_working_memory, record_view, require_version
from ledger.errors import InvalidInput, PreconditionFailed, VersionConflict
from ledger.events.ids import Stream
from ledger.results import Guard, Precondition
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.compat import compat_answers
from ledger.server.compat.compat_bodies import WorkingMemoryBody, check_body
from ledger.server.compat.compat_limits import ContextLimit, LimitOf, new_session_config
from ledger.server.compat.compat_shapes import AcknowledgedOut, SessionsOut, WorkingMemoryOut
from ledger.server.compat.locating import FoundSession, Locator
from ledger.server.http.answer_headers import ETag
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import compat_router
from ledger.server.service import Service
from ledger.session.state import SessionState

router = compat_router(tags=["working memory"])
#: Redirects for the two paths that clients also use without a final slash (http W-1).
redirects = compat_router(include_in_schema=False)

_WARNING: Final = (
    "messages[].created_at will become required in the next major version. Please provide timestamps for all messages."
)

_Name = Annotated[str | None, Query()]


@router.get("/v1/working-memory/")
async def list_sessions(
    caller: ReadCaller,
    service: ServiceOf,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    namespace: _Name = None,
    user_id: _Name = None,
) -> SessionsOut:
    """List live sessions, the newest first; an id that two users have is listed twice."""
    # http W-15
    names = await Locator(service, caller).permitted(namespace)
    total, rows = await live_sessions(service.services, names, user_id=user_id, limit=offset + limit)
    return SessionsOut(sessions=[row.session_id for row in rows[offset:]], total=total)


@router.get(
    "/v1/working-memory/{session_id}",
    response_model=WorkingMemoryOut,
    responses={304: {"description": "Not changed."}},
)
async def get_session(
    session_id: str,
    caller: ReadCaller,
    service: ServiceOf,
    limit: LimitOf,
    user_id: _Name = None,
    namespace: _Name = None,
    recent_messages_limit: Annotated[int | None, Query(ge=-(2**31), le=2**31)] = None,
) -> Response:
    """Return a session; messages that do not fit into the model's window are left out, oldest first."""
    # http W-17
    place = await Locator(service, caller).find(session_id, namespace=namespace, user_id=user_id)
    if place is None:
        return JSONResponse({"detail": f"Session {session_id} not found"}, 404)
    handle = service.handle(place.namespace, caller)
    view = await service.services.states.view(
        handle.stream(session_id, place.user_id),
        place.state,
        lambda: compat_answers.view_of(place.state, limit, recent=recent_messages_limit),
    )
    etag = await _etag(handle.stream(session_id, place.user_id), service, place.state, view)
    headers = {"ETag": etag} | ({"X-Memory-Reconstructed": "true"} if place.expired else {})
    if view.served is not None:
        await record_view(handle, session_id, view.served, user_id=place.user_id)
    return _answer(place, view, limit, service, headers)


@router.put("/v1/working-memory/{session_id}", response_model=WorkingMemoryOut)
async def put_session(
    session_id: str,
    sent: Annotated[WorkingMemoryBody, JsonBody()],
    caller: WriteCaller,
    service: ServiceOf,
    limit: LimitOf,
    user_id: _Name = None,
    namespace: _Name = None,
    ttl_seconds: Annotated[int | None, Query(ge=1, le=10**9)] = None,
    if_match: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Response:
    """Write a session: a three-way merge of the body, what its writer had read, and what is stored."""
    # http W-16, W-51
    caller.require("read")  # the answer is the whole session
    settings = service.settings
    check_body(
        sent,
        now=service.clock.now(),
        future_s=settings.max_future_timestamp_seconds,
        timestamps=settings.require_message_timestamps,
    )
    for memory in sent.memories:
        if memory.namespace is not None:
            caller.require_namespace(memory.namespace)
    body = sent.body()
    if not body.ttl_sent and ttl_seconds is not None:
        body = msgspec.structs.replace(body, ttl_seconds=ttl_seconds, ttl_sent=True)
    names = sent.namespace or namespace, sent.user_id or user_id
    target, user, state = await Locator(service, caller).find_target(
        session_id, body, sent.last_accessed, namespace=names[0], user_id=names[1]
    )
    put = await put_working_memory(
        service.handle(target, caller),
        session_id,
        body,
        config=new_session_config(settings),
        when=_precondition(if_match, if_none_match),
        last_accessed=sent.last_accessed,
        context_window=limit.context_window if (limit.context_window or 0) > 0 else None,
        model_name=limit.model_name,
        compact=settings.enable_working_memory_summarization,
        wait_s=settings.longest_put_wait_s,
        idempotency_key=idempotency_key,
        user_id=user,
        state=state,
    )
    view = compat_answers.View(tuple(put.state.window.entries))
    stream = service.handle(target, caller).stream(session_id, user)
    headers = {"ETag": await _etag(stream, service, put.state, view)}
    if any(message.created_at is None for message in sent.messages):
        headers["X-Deprecation-Warning"] = _WARNING
    if put.replayed:
        headers["Idempotent-Replayed"] = "true"
    return _answer(FoundSession(target, user, session_id, put.state), view, limit, service, headers)


@router.delete("/v1/working-memory/{session_id}")
async def delete_session(
    session_id: str,
    caller: WriteCaller,
    service: ServiceOf,
    user_id: _Name = None,
    namespace: _Name = None,
    if_match: Annotated[str | None, Header()] = None,
) -> AcknowledgedOut:
    """End a session; its history and the records of long-term memory stay."""
    # http W-19
    when = _precondition(if_match, None)
    place = await Locator(service, caller).find_one(session_id, namespace=namespace, user_id=user_id)
    if when.strict and place is None:
        raise PreconditionFailed("there is no live session")
    if place is not None:
        guard: Guard = {"user_id": place.user_id}
        handle = service.handle(place.namespace, caller)
        if when.version is not None:
            await require_version(handle, handle.stream(session_id, place.user_id), place.state, when)
            guard["expected_version"] = when.version
        try:
            await clear_session(handle, session_id, end=True, **guard)
        except VersionConflict as conflict:
            if when.version is None:
                raise
            raise PreconditionFailed(f"the session is at version {conflict.current}; read it again") from conflict
    return AcknowledgedOut(status="ok")


def _precondition(if_match: str | None, if_none_match: str | None) -> Precondition:
    """Return the precondition in the headers (http W-52).

    Raises:
        PreconditionFailed: no version could match.
        InvalidInput: ``If-None-Match`` is not ``*``.
    """
    if if_none_match is not None and if_none_match.strip() != "*":
        raise InvalidInput("bad_header", "takes * on a write", field="if-none-match")
    if if_match is None:
        return Precondition(absent=if_none_match is not None)
    if if_match.strip() == "*":
        return Precondition(strict=True, absent=if_none_match is not None)
    found = ETag.parse(if_match)
    if found is None:
        raise PreconditionFailed("If-Match is not the ETag of an answer; read the session again")
    absent = if_none_match is not None
    return Precondition(strict=True, version=found.version, event=found.event, view=found.view, absent=absent)


async def _etag(stream: Stream, service: Service, state: SessionState, view: compat_answers.View) -> str:
    """Return the ETag: the version, its event and, if messages were left out, the key of the view."""
    digest = await service.services.states.digest(stream, state.version)
    return str(ETag.of(state.version, digest, None if view.served is None else view.served.key))


def _answer(
    place: FoundSession, view: compat_answers.View, limit: ContextLimit, service: Service, headers: dict[str, str]
) -> Response:
    content = compat_answers.working_memory(
        place.state,
        view,
        limit,
        session_id=place.session_id,
        namespace=place.namespace,
        user_id=place.user_id,
        threshold=service.settings.summarization_threshold,
    )
    return Response(msgspec.json.encode(content), media_type="application/json", headers=headers)


@redirects.get("/v1/working-memory", status_code=307)
@redirects.post("/v1/long-term-memory", status_code=307)
async def with_slash(request: Request) -> Response:
    """Redirect to the path with a slash."""
    query = f"?{request.url.query}" if request.url.query else ""
    return Response(status_code=307, headers={"location": f"{request.url.path}/{query}"})
