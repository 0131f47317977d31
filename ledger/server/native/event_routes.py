"""The log of a session, as it is stored (http W-67)."""

from typing import Annotated, Final, TypeAlias

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from ledger.application.json_models.event_json import ListedEventShape
from ledger.application.json_models.shapes import Shape
from ledger.errors import InvalidInput
from ledger.server.access.callers import ReadCaller
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import AfterVersion, PageLimit, whole_number
from ledger.server.native.session_conditions_of_writes import SessionOf, tag

router = native_router(prefix="/v1/sessions/{session_id}", tags=["events"])

_MOST_TYPES: Final = 64


BeforeVersion: TypeAlias = Annotated[
    int | None,
    whole_number("before_version", least=1),
    Query(description="Only events before this version, newest first.", examples=[100]),
]


class EventPage(Shape):
    """A page of the log, full unless it is the last, and the version that the session is at."""

    events: tuple[ListedEventShape, ...]
    next_after: int | None = Field(description="The `after_version` of the next page; null at the end.")
    next_before: int | None = Field(description="The `before_version` of the next page, if the newest come first.")
    version: int


@router.get("/events", operation_id="list_events")
async def events(
    session: SessionOf,
    caller: ReadCaller,
    response: Response,
    after_version: AfterVersion = 0,
    before_version: BeforeVersion = None,
    limit: PageLimit = 100,
    type: Annotated[
        list[str] | None, Query(description="Only events of these types.", examples=[["entry.added"]])
    ] = None,
    actor: Annotated[str | None, Query(description="Only events of this actor.")] = None,
) -> EventPage:
    """List events after a version, or before one, newest first; with their links in the hash chain."""
    if type is not None and len(type) > _MOST_TYPES:
        raise InvalidInput("bad_type", f"must be sent at most {_MOST_TYPES} times", field="type")
    page = await session.ledger.get_log(
        after_version=after_version,
        before_version=before_version,
        limit=limit,
        type=type,
        actor=actor,
        **session.names,
    )
    await tag(response, session, page.version)
    return EventPage.model_validate(page)
