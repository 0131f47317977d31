"""What a session is, or was: state, context, numbers (http W-68, W-69)."""

from datetime import datetime, timedelta
from typing import Annotated, Literal, TypeAlias, TypedDict

from fastapi import Query
from msgspec.structs import replace
from pydantic import Field
from starlette.responses import Response

from ledger.application.context import context_of_state
from ledger.application.reading import entries_since_clear
from ledger.errors import InvalidInput
from ledger.events import JsonObject, to_datetime
from ledger.history.comparing import working_context
from ledger.server.callers import ReadCaller
from ledger.server.ledgers import ServiceOf
from ledger.server.native.sessions import SessionOf, never_future, tag
from ledger.server.native.shapes import (
    EntryShape,
    EntryStatus,
    MemoryShape,
    SessionStatus,
    Shape,
    SummaryShape,
    Time,
    entry_fields,
    status_of,
)
from ledger.server.routes import native_router
from ledger.server.strict_body import whole_number
from ledger.session.drafts import check_time
from ledger.session.state import SessionState
from projections.model_windows import window_tokens
from projections.ranges import contains
from projections.token_limits import fitted, hidden

router = native_router(prefix="/v1/sessions/{session_id}", tags=["sessions"])

VersionOf: TypeAlias = Annotated[
    int | None, whole_number("version", least=0), Query(description="As it was at this version.")
]
AtTime: TypeAlias = Annotated[
    str | None,
    Query(description="As it was at this moment: ISO 8601 with an offset.", examples=["2026-01-31T09:30:00Z"]),
]


class Message(Shape):
    """A message in the window, as the working-memory API shows it."""

    role: str
    content: str
    id: str
    created_at: Time
    persisted_at: Time | None
    discrete_memory_extracted: Literal["t", "f"]


class EntryWithFate(EntryShape):
    """An entry and what became of it."""

    status: EntryStatus
    summary_ids: tuple[str, ...]


class ExtractionShape(Shape):
    """How memories are made of the messages."""

    strategy: str
    config: JsonObject


class State(Shape):
    """A session as the working-memory API shows it, and where each of its entries is."""

    session_id: str
    namespace: str
    user_id: str | None
    status: SessionStatus
    version: int
    messages: list[Message]
    memories: list[MemoryShape]
    data: JsonObject
    context: str | None
    tokens: int
    long_term_memory_strategy: ExtractionShape
    ttl_seconds: int | None
    expires_at: Time | None
    last_accessed: Time
    created_at: Time
    updated_at: Time
    context_percentage_total_used: float | None = None
    context_percentage_until_summarization: float | None = None
    entries: list[EntryWithFate] = Field(description="All since the last clear, oldest first.")


class ContextShape(Shape):
    """What a model is given, as chat messages or as text; *hidden* entries are active but not in it."""

    messages: list[JsonObject] | None
    text: str | None
    summaries: list[SummaryShape]
    tokens: int
    limit: int | None
    hidden: int
    version: int


class EntryCounts(Shape):
    """Entries since the last clear, by what became of them."""

    total: int
    active: int
    covered: int
    removed: int
    erased: int


class TokenCounts(Shape):
    """Tokens in the window."""

    total: int
    active: int
    summaries: int


class MemoryCounts(Shape):
    """Structured memories of the session, and those of them that are in long-term memory."""

    active: int
    promoted: int


class Stats(Shape):
    """The numbers of a session."""

    version: int
    events: int
    writes: int
    entries: EntryCounts
    summaries: int
    tokens: TokenCounts
    memories: MemoryCounts
    created_at: Time
    updated_at: Time
    expires_at: Time | None


@router.get("/state", operation_id="get_state")
async def state(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    response: Response,
    version: VersionOf = None,
    at: AtTime = None,
    namespace: Annotated[str | None, Query()] = None,
) -> State:
    """Show the session now, at a version, or at a moment; an ended or expired one too."""
    found = await session.ledger.get_state(**session.names, **when(version, never_future(service, at)))
    entries = await entries_since_clear(session.handle, session.stream, found)
    moment = check_time(at, "at") or service.clock.now()
    flags = found.working.flags
    tag(response, found.version)
    return State(
        session_id=session.session_id,
        namespace=caller.namespace(namespace),
        user_id=session.names["user_id"] or None,
        status=status_of(found, moment),
        version=found.version,
        messages=[
            Message(
                role=entry.role,
                content=entry.content,
                id=entry.entry_id,
                created_at=entry.moment,
                persisted_at=flags.persisted_at(entry.version),
                discrete_memory_extracted="t" if contains(flags.extracted, entry.version) else "f",
            )
            for entry in found.window.entries
        ],
        memories=[MemoryShape.of(memory) for memory in found.working.memories],
        data=found.working.data,
        context=working_context(found),
        tokens=found.working.tokens,
        long_term_memory_strategy=ExtractionShape(
            strategy=found.working.extraction.strategy, config=found.working.extraction.config
        ),
        ttl_seconds=found.working.ttl_seconds,
        expires_at=found.working.expires_at,
        last_accessed=_stamp(found),
        created_at=to_datetime(found.created_us),
        updated_at=to_datetime(found.updated_us),
        entries=[
            EntryWithFate(**entry_fields(past.entry), status=past.status, summary_ids=past.summary_ids)
            for past in entries
        ],
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
        int | None, whole_number("context_window_max", least=1), Query(description="Wins over the model's window.")
    ] = None,
    format: Annotated[str, Query(json_schema_extra={"enum": ["messages", "text"]})] = "messages",
) -> ContextShape:
    """Show what a model is given, or would have been given then; the oldest units are left out if it is too much."""
    if format not in {"messages", "text"}:
        raise InvalidInput("bad_value", "is messages or text", field="format")
    limit = context_window_max if context_window_max is not None else _window(model_name)
    found = await session.ledger.get_state(**session.names, **when(version, never_future(service, at)))
    looks_back = version is not None or at is not None
    shown = await context_of_state(session.handle, session.stream, found, looks_back=looks_back)
    shown = replace(shown, window=fitted(shown.window, limit))
    tag(response, found.version)
    return ContextShape(
        messages=shown.messages if format == "messages" else None,
        text=shown.text if format == "text" else None,
        summaries=[SummaryShape.of(summary) for summary in shown.summaries],
        tokens=shown.tokens,
        limit=limit,
        hidden=hidden(shown.window, found.window.entries),
        version=found.version,
    )


@router.get("/stats", operation_id="get_stats")
async def stats(
    session: SessionOf,
    caller: ReadCaller,
    response: Response,
) -> Stats:
    """Return how much the session holds, and where it went."""
    found = await session.state()
    counts = found.counts
    tag(response, found.version)
    return Stats(
        version=found.version,
        events=found.version,
        writes=found.writes,
        entries=EntryCounts(
            total=counts.added,
            active=len(found.window.entries),
            covered=counts.covered,
            removed=counts.removed,
            erased=counts.erased,
        ),
        summaries=len(found.summaries.live),
        tokens=TokenCounts(
            total=found.window.tokens + found.summaries.tokens,
            active=found.window.tokens,
            summaries=found.summaries.tokens,
        ),
        memories=MemoryCounts(
            active=len(found.working.memories),
            promoted=sum(memory.persisted_us > 0 for memory in found.working.memories),
        ),
        created_at=to_datetime(found.created_us),
        updated_at=to_datetime(found.updated_us),
        expires_at=found.working.expires_at,
    )


class PointInTime(TypedDict, total=False):
    """A point in a session's time, as every reading method of the library takes it."""

    version: int | None
    at: str | None


def when(version: int | None, at: str | None) -> PointInTime:
    """Return the point in time that a request asks for; now, if for none."""
    asked: PointInTime = {}
    if version is not None:
        asked["version"] = version
    if at is not None:
        asked["at"] = at
    if len(asked) == 2:
        raise InvalidInput("bad_version", "give a version or a moment, not both", field="at")
    return asked


def _window(model_name: str | None) -> int | None:
    """Return the window of a model that was named.

    Raises:
        InvalidInput: ``unknown_model``.
    """
    if model_name is None:
        return None
    found = window_tokens(model_name)
    if found is None:
        raise InvalidInput("unknown_model", "its window is not known; send context_window_max", field="model_name")
    return found


def _stamp(state: SessionState) -> datetime:
    """Return the whole second of the last write, and the version as microseconds (http W-7)."""
    second = to_datetime(state.updated_us).replace(microsecond=0)
    return second + timedelta(microseconds=state.version % 1_000_000)
