"""What the viewer reads of a session: its timeline, windows, entries, summaries and texts."""

from typing import Annotated, TypeAlias

from fastapi import Path, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from ledger.application.auditing.past_summaries import MOST_SUMMARIES
from ledger.application.auditing.shown_calls import MOST_CALLS
from ledger.application.json_models.window_json import (
    ModelCallsShape,
    PastSummariesShape,
    SummaryRecordShape,
    TextMatchesShape,
    TimelineShape,
    WindowShape,
)
from ledger.application.reading.timeline_pages import TIMELINE_EVENTS
from ledger.application.reading.window_views import MOST_ITEMS
from ledger.application.searching.exact_text import MOST_CHARACTERS, MOST_MATCHES
from ledger.events.names import check_entry_id
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody, whole_number
from ledger.server.native.session_conditions_of_writes import SessionOf, never_future, tag
from ledger.server.native.state_routes import AtTime, VersionOf, when

router = native_router(prefix="/v1/sessions/{session_id}", tags=["viewer"])

AfterOf: TypeAlias = Annotated[int, whole_number("after", least=0), Query(description="A version; what came after it.")]


class TextToFind(StrictBody):
    """Exact text, the version as of which it is searched, and the page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "table for two"}]})

    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    version: Annotated[int, Field(ge=1, le=INT_MAX)] | None = None
    after: Annotated[int, Field(ge=0, le=INT_MAX)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_MATCHES)] = 100
    ignore_case: bool = True


@router.get("/timeline", operation_id="get_timeline")
async def timeline(
    session: SessionOf,
    caller: ReadCaller,
    response: Response,
    after: AfterOf = 0,
    limit: Annotated[
        int, whole_number("limit", least=1, most=TIMELINE_EVENTS), Query(description="Events of the page.")
    ] = TIMELINE_EVENTS,
) -> TimelineShape:
    """Return which entries came and left, and which summaries stood for them, as columns."""
    found = await session.ledger.timeline(after=after, limit=limit, **session.names)
    await tag(response, session, found.newest)
    return TimelineShape.model_validate(found)


@router.get("/window", operation_id="get_window")
async def window(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    response: Response,
    version: VersionOf = None,
    at: AtTime = None,
    offset: Annotated[int, whole_number("offset", least=0), Query(description="Items before the page.")] = 0,
    limit: Annotated[int, whole_number("limit", least=1, most=MOST_ITEMS), Query()] = 500,
    query: Annotated[str | None, Query(description="Replaces what the window searches for.")] = None,
) -> WindowShape:
    """Return what the model is shown, item by item, and what is hidden; a recorded window is the recorded one."""
    asked = when(version, never_future(service, at))
    found = await session.ledger.get_window(offset=offset, limit=limit, query=query, **session.names, **asked)
    await tag(response, session, found.version)
    return WindowShape.model_validate(found)


@router.get("/windows", operation_id="list_windows")
async def windows(
    session: SessionOf,
    caller: ReadCaller,
    after: AfterOf = 0,
    limit: Annotated[int, whole_number("limit", least=1, most=MOST_CALLS), Query()] = 200,
) -> ModelCallsShape:
    """Return what the model was shown at each call, as ranges; without a recorded context, what it would have been."""
    found = await session.ledger.model_calls(after=after, limit=limit, **session.names)
    return ModelCallsShape.model_validate(found)


@router.get("/summaries", operation_id="list_summaries")
async def summaries(
    session: SessionOf,
    caller: ReadCaller,
    response: Response,
    version: VersionOf = None,
    after: AfterOf = 0,
    limit: Annotated[int, whole_number("limit", least=1, most=MOST_SUMMARIES), Query()] = 200,
) -> PastSummariesShape:
    """List every summary that the session ever had, and how each ended."""
    found = await session.ledger.list_summaries(version=version, after=after, limit=limit, **session.names)
    await tag(response, session, found.version)
    return PastSummariesShape.model_validate(found)


@router.get("/summaries/{summary_id}", operation_id="get_summary")
async def summary(
    session: SessionOf,
    summary_id: Annotated[str, Path(description="The summary's id.")],
    caller: ReadCaller,
    version: VersionOf = None,
) -> SummaryRecordShape:
    """Show a summary: how it ended, the tree of what it folds, and what asked for it."""
    name = check_entry_id(summary_id, field="summary_id")
    found = await session.ledger.get_summary(summary_id=name, version=version, **session.names)
    return SummaryRecordShape.model_validate(found)


@router.post("/find", operation_id="find")
async def find(session: SessionOf, body: TextToFind, caller: ReadCaller) -> TextMatchesShape:
    """Find exact text in entries and summaries, whatever became of them."""
    return TextMatchesShape.model_validate(await session.ledger.find(**session.names, **body.model_dump()))
