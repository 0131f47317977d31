"""Write to several sessions of a namespace at once (adapters LF-6)."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from starlette.responses import Response

from ledger.application.json_models.entry_json import AddedShape
from ledger.application.json_models.shapes import Shape
from ledger.application.writing.session_writes import MOST_SESSIONS
from ledger.server.access.callers import WriteCaller
from ledger.server.http.dependencies import HandleOf, LedgerOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.command_routes import ConfigInput
from ledger.server.native.entry_routes import Draft, ExpectedVersion, check_roles
from ledger.server.native.session_conditions_of_writes import IdempotencyKeyOf

router = native_router(prefix="/v1/writes", tags=["entries"])


class SessionPartBody(StrictBody):
    """What one session gets: entries, values of whole keys of its data, or both."""

    session_id: str
    user_id: str | None = None
    entries: list[Draft] = Field(default_factory=list)
    data: dict[str, Any] = Field(default_factory=dict)
    remove_data: list[str] = Field(default_factory=list)
    expected_version: ExpectedVersion | None = None
    config: ConfigInput = Field(default=None, description="Of a session that begins.")


class NewWrites(StrictBody):
    """1 to 100 sessions, each once; all are written or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "writes": [
                        {"session_id": "trip", "entries": [{"role": "user", "content": "Book a table for two"}]},
                        {"session_id": "profile", "data": {"party_size": 2}},
                    ]
                }
            ]
        }
    )

    writes: Annotated[list[SessionPartBody], Field(json_schema_extra={"minItems": 1, "maxItems": MOST_SESSIONS})]


class WritesShape(Shape):
    """What each session got, in the order of the request."""

    sessions: tuple[AddedShape, ...]


@router.post("", status_code=201, operation_id="write_sessions")
async def write(
    handle: HandleOf,
    ledger: LedgerOf,
    caller: WriteCaller,
    body: NewWrites,
    key: IdempotencyKeyOf,
    response: Response,
) -> WritesShape:
    """Add entries to several sessions and set keys of their data, in one write; sessions that are not there begin."""
    for each in body.writes:
        check_roles(handle, each.entries)
    written = await ledger.write_sessions(
        [each.model_dump(exclude_unset=True) for each in body.writes],  # type: ignore[misc]  # of these keys
        idempotency_key=key,
    )
    if any(each.replayed for each in written):
        response.headers["idempotent-replayed"] = "true"
    return WritesShape(sessions=tuple(AddedShape.model_validate(each) for each in written))
