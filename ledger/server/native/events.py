"""The log of a session, as it is stored (http W-67)."""

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from ledger.json_models.base import Shape
from ledger.json_models.events import EventShape
from ledger.names import check_entry_id
from ledger.server.callers import ReadCaller
from ledger.server.native.sessions import SessionOf, tag
from ledger.server.routes import native_router
from ledger.server.strict_body import AfterVersion, PageLimit

router = native_router(prefix="/v1/sessions/{session_id}", tags=["events"])


class EventPage(Shape):
    """A page of the log, oldest first, and the version that the session is at."""

    events: tuple[EventShape, ...]
    next_after: int | None = Field(description="The `after_version` of the next page; null at the end.")
    version: int


@router.get("/events", operation_id="list_events")
async def events(
    session: SessionOf,
    caller: ReadCaller,
    response: Response,
    after_version: AfterVersion = 0,
    limit: PageLimit = 100,
    type: Annotated[str | None, Query(description="Only events of this type.", examples=["entry.added"])] = None,
) -> EventPage:
    """List events after a version. Of one type a page may be short, or empty, and not be the last."""
    if type is not None:
        check_entry_id(type, field="type")
    page = await session.ledger.get_log(after_version=after_version, limit=limit, type=type, **session.names)
    await tag(response, session, page.version)
    return EventPage.model_validate(page)
