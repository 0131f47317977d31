"""The log of a session, as it is stored (http W-67)."""

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from ledger.events import JsonObject
from ledger.history.log import LoggedEvent
from ledger.names import check_entry_id
from ledger.server.callers import ReadCaller
from ledger.server.native.sessions import SessionOf, tag
from ledger.server.native.shapes import Shape, Time
from ledger.server.routes import native_router
from ledger.server.strict_body import AfterVersion, PageLimit

router = native_router(prefix="/v1/sessions/{session_id}", tags=["events"])


class EventShape(Shape):
    """An event: its place, its exact payload, and its link in the chain."""

    session_id: str
    user_id: str | None
    version: int
    position: int
    event_id: str
    type: str
    schema_version: int
    occurred_at: Time
    recorded_at: Time
    actor: str
    write_id: str
    payload: JsonObject
    previous_hash: str
    hash: str

    @classmethod
    def of(cls, event: LoggedEvent) -> "EventShape":
        """Return *event* as it is answered."""
        return cls(
            session_id=event.session_id,
            user_id=event.user_id or None,
            version=event.version,
            position=event.position,
            event_id=str(event.event_id),
            type=event.type,
            schema_version=event.schema_version,
            occurred_at=event.occurred_at,
            recorded_at=event.recorded_at,
            actor=event.actor,
            write_id=event.write_id,
            payload=event.payload,
            previous_hash=event.previous_hash,
            hash=event.hash,
        )


class Events(Shape):
    """A page of the log, oldest first, and the version that the session is at."""

    events: list[EventShape]
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
) -> Events:
    """List events after a version. Of one type a page may be short, or empty, and not be the last."""
    if type is not None:
        check_entry_id(type, field="type")
    page = await session.ledger.get_log(after_version=after_version, limit=limit, type=type, **session.names)
    tag(response, page.version)
    return Events(
        events=[EventShape.of(event) for event in page.events], next_after=page.next_after, version=page.version
    )
