"""Read the state, the context and the statistics of a session, now or in the past (http W-68, W-69)."""

from typing import Annotated, Final, TypeAlias, TypedDict

from fastapi import Query
from msgspec.structs import replace
from pydantic import Field
from starlette.responses import Response

from ledger.application.json_models.entry_json import SummaryShape
from ledger.application.json_models.search_json import RecalledShape
from ledger.application.json_models.session_json import BudgetShape, StateShape, StatsShape
from ledger.application.json_models.shapes import Shape
from ledger.application.reading.contexts import context_of_state
from ledger.application.reading.session_reads import active_entries, existing_state
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import JsonObject
from ledger.formats.messages import REQUESTS
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import whole_number
from ledger.server.native.session_conditions_of_writes import SessionOf, never_future, tag
from ledger.session.entry_drafts import check_time
from projections.model_windows import window_tokens
from projections.token_limits import fitted, hidden

router = native_router(prefix="/v1/sessions/{session_id}", tags=["sessions"])

VersionOf: TypeAlias = Annotated[
    int | None, whole_number("version", least=0), Query(description="As it was at this version.")
]
AtTime: TypeAlias = Annotated[
    str | None,
    Query(description="As it was at this time: ISO 8601 with an offset.", examples=["2026-01-31T09:30:00Z"]),
]


class ContextShape(Shape):
    """What a model is given, as chat messages, as text, or as a *request* with a provider's arguments.

    *hidden* entries are active but not in it.
    """

    messages: list[JsonObject] | None
    text: str | None
    request: JsonObject | None
    summaries: tuple[SummaryShape, ...]
    tokens: int
    budget: BudgetShape
    counted_by_text: tuple[int, ...] = Field(description="Versions of entries that an older release counted too low.")
    recalled: tuple[RecalledShape, ...]
    hidden: int
    version: int


_FORMATS: Final = ("messages", "text", *REQUESTS)


@router.get("/state", operation_id="get_state")
async def state(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    response: Response,
    version: VersionOf = None,
    at: AtTime = None,
    namespace: Annotated[str | None, Query()] = None,
) -> StateShape:
    """Show the session now, at a version, or at a moment; an ended or expired one too."""
    found = await session.ledger.get_state(**session.names, **when(version, never_future(service, at)))
    moment = check_time(at, "at") or service.clock.now()
    await tag(response, session, found.version)
    return StateShape.of(
        found,
        active_entries(found),
        session_id=session.session_id,
        user_id=session.names["user_id"],
        namespace=caller.namespace(namespace),
        now=moment,
    )


@router.get("/context", operation_id="get_context")
async def context(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    response: Response,
    version: VersionOf = None,
    at: AtTime = None,
    model_name: Annotated[str | None, Query(description="A model whose window is known.", examples=["gpt-4o"])] = None,
    context_window_max: Annotated[
        int | None, whole_number("context_window_max", least=1), Query(description="Replaces the window of the model.")
    ] = None,
    format: Annotated[str, Query(json_schema_extra={"enum": list(_FORMATS)})] = "messages",
) -> ContextShape:
    """Return the context for a model, now or in the past; the oldest units are left out if it is too long."""
    if format not in _FORMATS:
        raise InvalidInput("bad_value", f"must be one of {', '.join(_FORMATS)}", field="format")
    limit = context_window_max if context_window_max is not None else _window(model_name)
    found = await existing_state(session.handle, **session.names, **when(version, never_future(service, at)))
    looks_back = version is not None or at is not None
    shown = await context_of_state(session.handle, session.stream, found, looks_back=looks_back)
    shown = replace(shown, window=fitted(shown.window, limit))
    await tag(response, session, found.version)
    attachments: dict[str, bytes] = {}
    if format in REQUESTS:
        attachments = await session.ledger.get_attachments(shown, user_id=session.names["user_id"])
    return ContextShape(
        request=REQUESTS[format](shown.shown_messages, attachments) if format in REQUESTS else None,
        messages=shown.messages if format == "messages" else None,
        text=shown.text if format == "text" else None,
        summaries=tuple(SummaryShape.model_validate(summary) for summary in shown.summaries),
        tokens=shown.tokens,
        budget=BudgetShape.model_validate(shown.budget),
        counted_by_text=shown.counted_by_text,
        recalled=tuple(RecalledShape.model_validate(entry) for entry in shown.recalled),
        hidden=hidden(shown.window, found.window.entries),
        version=found.version,
    )


@router.get("/stats", operation_id="get_stats")
async def stats(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    response: Response,
    version: VersionOf = None,
    at: AtTime = None,
) -> StatsShape:
    """Return how much the session holds, or held at a version or a moment, and where it went."""
    found = await session.ledger.get_stats(**session.names, **when(version, never_future(service, at)))
    if not found.version:
        raise SessionNotFound(session.session_id)
    await tag(response, session, found.version)
    return StatsShape.model_validate(found)


class PointInTime(TypedDict, total=False):
    """A point in a session's time, as every reading method of the library takes it."""

    version: int | None
    at: str | None


def when(version: int | None, at: str | None) -> PointInTime:
    """Return the point in time of a request; empty for now."""
    asked: PointInTime = {}
    if version is not None:
        asked["version"] = version
    if at is not None:
        asked["at"] = at
    if len(asked) == 2:
        raise InvalidInput("bad_version", "must not be sent together with version", field="at")
    return asked


def _window(model_name: str | None) -> int | None:
    """Return the window of a named model, or None without a name.

    Raises:
        InvalidInput: ``unknown_model``.
    """
    if model_name is None:
        return None
    found = window_tokens(model_name)
    if found is None:
        raise InvalidInput("unknown_model", "is not known; send context_window_max", field="model_name")
    return found
