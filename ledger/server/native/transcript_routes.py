"""Read the transcript of a session, and change its end in one write (adapters LF-2, LF-3)."""

from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from ledger.application.json_models.entry_json import AddedShape, EntryShape, PoppedShape, TranscriptShape
from ledger.application.writing.tail import take_newest
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody, whole_number
from ledger.server.native.entry_routes import AtVersion, Draft, ExpectedVersion, check_roles
from ledger.server.native.session_conditions_of_writes import ConditionsOf, SessionOf, never_future, tag
from ledger.server.native.state_routes import AtTime, VersionOf, when

router = native_router(prefix="/v1/sessions/{session_id}", tags=["entries"])


class EntriesToRemove(StrictBody):
    """The ids of entries in the window; all are removed or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"entry_ids": ["m-1", "m-2"]}]})

    entry_ids: Annotated[list[str], Field(json_schema_extra={"minItems": 1})]
    expected_version: ExpectedVersion | None = None


class NewTail(StrictBody):
    """How many of the newest entries to remove, what to add instead, and the version that was read before."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"count": 1, "entries": [{"role": "assistant", "content": "For when?"}], "expected_version": 3}
            ]
        }
    )

    count: Annotated[int, Field(ge=0, le=INT_MAX)]
    entries: list[Draft] = Field(default_factory=list)
    expected_version: ExpectedVersion


@router.get("/transcript", operation_id="get_transcript")
async def transcript(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    last: Annotated[
        int, whole_number("last", least=0, most=1_000), Query(description="Only the newest so many.")
    ] = 200,
    after: Annotated[
        int | None, whole_number("after", least=0), Query(description="Only those added after this version.")
    ] = None,
    version: VersionOf = None,
    at: AtTime = None,
) -> TranscriptShape:
    """List the newest entries of the transcript: also compacted ones, but none that was removed or cleared."""
    found = await session.ledger.get_transcript(
        last=last, after=after, **session.names, **when(version, never_future(service, at))
    )
    if not found:
        await session.state()  # an unknown session is refused
    return TranscriptShape(entries=tuple(EntryShape.model_validate(entry) for entry in found))


@router.post("/entries/pop", operation_id="pop_entry")
async def pop(session: SessionOf, caller: WriteCaller, conditions: ConditionsOf, response: Response) -> PoppedShape:
    """Remove the newest entry of the transcript and answer it; of callers at once, each gets another one."""
    caller.require("read")  # the answer is a whole entry
    with conditions.hold():
        popped = await take_newest(session.handle, **session.names, **await conditions.guard(session))
    if popped.version:
        await tag(response, session, popped.version, replayed=popped.replayed)
    return PoppedShape.model_validate(popped)


@router.post("/entries/remove", operation_id="remove_entries")
async def remove(
    session: SessionOf, caller: WriteCaller, body: EntriesToRemove, conditions: ConditionsOf, response: Response
) -> AtVersion:
    """Remove several active entries from the window in one write; their history stays."""
    guard = await conditions.guard(session, body.expected_version)
    await session.state()
    with conditions.hold():
        version = await session.ledger.remove_entries(entry_ids=body.entry_ids, **session.names, **guard)
    await tag(response, session, version, replayed=version.replayed)
    return AtVersion(version=version)


@router.post("/entries/replace-tail", operation_id="replace_tail")
async def replace_tail(
    session: SessionOf, caller: WriteCaller, body: NewTail, conditions: ConditionsOf, response: Response
) -> AddedShape:
    """Remove the newest entries of the transcript and add others in one write, at exactly a version."""
    check_roles(session.handle, body.entries)
    guard = await conditions.guard(session, body.expected_version)
    with conditions.hold():
        added = await session.ledger.replace_tail(
            entries=body.entries,
            count=body.count,
            expected_version=guard.get("expected_version") or body.expected_version,
            idempotency_key=guard.get("idempotency_key"),
            **session.names,
        )
    await tag(response, session, added.version, replayed=added.replayed)
    return AddedShape.model_validate(added)
