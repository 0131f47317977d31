"""Add, show, edit and remove entries (http W-65)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Path, Query
from pydantic import ConfigDict, Field, WithJsonSchema
from starlette.responses import Response

from ledger.application.handle import NamespaceHandle
from ledger.application.json_models.entry_json import AddedShape, EntryRecordShape, EntryRowsShape
from ledger.application.json_models.shapes import Shape
from ledger.application.writing.entry_writes import BATCH_ENTRIES
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.names import check_entry_id
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import PageLimit, StrictBody, whole_number
from ledger.server.native.session_conditions_of_writes import ConditionsOf, SessionOf, tag
from ledger.server.native.state_routes import VersionOf

router = native_router(prefix="/v1/sessions/{session_id}/entries", tags=["entries"])

#: The schema of an entry for the OpenAPI document; `ledger.session.entry_drafts` checks the values.
_ENTRY_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "role": {"enum": ["user", "assistant", "system", "tool"], "description": "`system` needs the scope system."},
        "content": {"description": "Text; of a tool result any JSON."},
        "entry_id": {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"},
        "kind": {
            "enum": [
                "message",
                "tool_call",
                "tool_result",
                "context",
                "system_instruction",
                "step_prompt",
                "step_result",
            ]
        },
        "data": {},
        "tool_name": {"type": ["string", "null"]},
        "tool_call_id": {"type": ["string", "null"]},
        "tool_status": {"enum": ["ok", "error", None]},
        "arguments": {},
        "tokens": {"type": ["integer", "null"], "minimum": 0},
        "created_at": {"type": ["string", "null"], "format": "date-time"},
        "metadata": {"type": ["object", "null"]},
    },
    "additionalProperties": False,
}

Draft: TypeAlias = Annotated[dict[str, Any], WithJsonSchema(_ENTRY_SCHEMA)]
ExpectedVersion: TypeAlias = Annotated[int, Field(ge=0, le=INT_MAX, description="0: the session must be new.")]
EntryIdParameter: TypeAlias = Annotated[str, Path(description="The entry's id.", examples=["m-1"])]


def check_roles(handle: NamespaceHandle, entries: Sequence[Mapping[str, Any]]) -> None:
    """Refuse entries with instructions for the model, unless the caller may write them.

    Raises:
        NotPermitted: ``role_not_allowed``.
    """
    if any(raw.get("role") == "system" or raw.get("kind") == "system_instruction" for raw in entries):
        handle.rights.check_system()


class NewEntries(StrictBody):
    """1 to 1,000 entries; all are added or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "entries": [
                        {"role": "user", "content": "Book a table for two", "entry_id": "m-1"},
                        {"role": "assistant", "content": "For when?", "entry_id": "m-2"},
                    ]
                }
            ]
        }
    )

    entries: Annotated[list[Draft], Field(json_schema_extra={"minItems": 1, "maxItems": BATCH_ENTRIES})]
    expected_version: ExpectedVersion | None = None


class NewContent(StrictBody):
    """The new text of an entry."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "Book a table for three"}]})

    content: str


class EarlierVersion(StrictBody):
    """The version of the session at which the entry was as wanted; by default what it was before its newest change."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 2}]})

    version: Annotated[int, Field(ge=1, le=INT_MAX)] | None = None


class AtVersion(Shape):
    """The new version of the session."""

    version: int


@router.post("", status_code=201, operation_id="add_entries")
async def add(
    session: SessionOf, caller: WriteCaller, body: NewEntries, conditions: ConditionsOf, response: Response
) -> AddedShape:
    """Add entries; a session that is not there begins, unless `If-Match` is sent."""
    check_roles(session.handle, body.entries)
    guard = await conditions.guard(session, body.expected_version)
    if not 1 <= len(body.entries) <= BATCH_ENTRIES:
        raise InvalidInput("batch_size", f"must have 1 to {BATCH_ENTRIES} items", field="entries", limit=BATCH_ENTRIES)
    with conditions.hold():
        added = await session.ledger.add_entries(
            session.session_id,
            body.entries,
            idempotency_key=guard.get("idempotency_key"),
            expected_version=guard.get("expected_version"),
            user_id=session.names["user_id"],
        )
    await tag(response, session, added.version, replayed=added.replayed)
    return AddedShape.model_validate(added)


@router.get("", operation_id="list_entries")
async def listed(
    session: SessionOf,
    caller: ReadCaller,
    response: Response,
    first: Annotated[int, whole_number("from", least=1), Query(alias="from", description="The first version.")] = 1,
    limit: PageLimit = 200,
    version: VersionOf = None,
    full: Annotated[bool, Query(description="Whole entries; then a page has at most 50.")] = False,
) -> EntryRowsShape:
    """List entries in the order of their versions, whatever became of them, now or at a version."""
    found = await session.ledger.list_entries(
        from_version=first, limit=limit, version=version, full=full, **session.names
    )
    await tag(response, session, found.version)
    return EntryRowsShape.model_validate(found)


@router.get("/{entry_id}", operation_id="get_entry")
async def show(
    session: SessionOf, entry_id: EntryIdParameter, caller: ReadCaller, response: Response, version: VersionOf = None
) -> EntryRecordShape:
    """Show an entry and everything recorded about it; at a version, also why it is in the window or not."""
    name = check_entry_id(entry_id, field="entry_id")
    found = await session.ledger.get_entry(entry_id=name, version=version, **session.names)
    await tag(response, session, found.session_version)
    return EntryRecordShape.model_validate(found)


@router.patch("/{entry_id}", operation_id="edit_entry")
async def edit(
    session: SessionOf,
    entry_id: EntryIdParameter,
    body: NewContent,
    caller: WriteCaller,
    conditions: ConditionsOf,
    response: Response,
) -> AtVersion:
    """Replace the text of an active entry; the old text stays in its history."""
    check_entry_id(entry_id, field="entry_id")
    state = await session.state()
    found = await session.handle.services.store.events.find_items(session.stream, [entry_id])
    if not set(state.window.pinned).isdisjoint(found.get(entry_id, ())):
        session.handle.rights.check_system()
    with conditions.hold():
        version = await session.ledger.edit_entry(
            entry_id=entry_id, content=body.content, **session.names, **await conditions.guard(session)
        )
    await tag(response, session, version, replayed=version.replayed)
    return AtVersion(version=version)


@router.delete("/{entry_id}", operation_id="remove_entry")
async def remove(
    session: SessionOf, entry_id: EntryIdParameter, caller: WriteCaller, conditions: ConditionsOf, response: Response
) -> AtVersion:
    """Remove an active entry from the window, with the rest of its answer; its history stays."""
    check_entry_id(entry_id, field="entry_id")
    await session.state()
    with conditions.hold():
        version = await session.ledger.remove_entry(
            entry_id=entry_id, **session.names, **await conditions.guard(session)
        )
    await tag(response, session, version, replayed=version.replayed)
    return AtVersion(version=version)


@router.post("/{entry_id}/restore", operation_id="restore_entry")
async def restore(
    session: SessionOf,
    entry_id: EntryIdParameter,
    body: EarlierVersion,
    caller: WriteCaller,
    conditions: ConditionsOf,
    response: Response,
) -> AtVersion:
    """Make an entry what it was: the text before an edit, or an entry that was removed or cleared, again."""
    check_entry_id(entry_id, field="entry_id")
    await session.state()
    with conditions.hold():
        version = await session.ledger.restore_entry(
            entry_id=entry_id, version=body.version, **session.names, **await conditions.guard(session)
        )
    await tag(response, session, version, replayed=version.replayed)
    return AtVersion(version=version)
