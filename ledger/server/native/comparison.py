"""What changed between two points, or would be different under another config (http W-72)."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.history.comparing import Changes
from ledger.results import Point as LibraryPoint
from ledger.server.callers import ReadCaller
from ledger.server.ledgers import ServiceOf
from ledger.server.native.sessions import SessionOf, never_future
from ledger.server.native.shapes import EntryShape, MemoryShape, Shape, SummaryShape
from ledger.server.routes import native_router
from ledger.server.service import Service
from ledger.server.strict_body import StrictBody
from ledger.strict_json import INT_MAX

router = native_router(prefix="/v1/sessions/{session_id}", tags=["proof"])

VersionNumber = Annotated[int, Field(ge=0, le=INT_MAX)]


class PointBody(StrictBody):
    """A version or a moment; now, if neither is given."""

    version: VersionNumber | None = None
    at: str | None = Field(default=None, description="ISO 8601 with an offset.")


class DiffBody(StrictBody):
    """Two points; or a version, now unless given, and a memory config to replay the session under."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"from": {"version": 2}, "to": {}},
                {"what_if": {"window": {"type": "max_tokens", "memory_max_tokens": 1000}}, "on_miss": "estimate"},
            ]
        }
    )

    from_: PointBody | None = Field(default=None, alias="from")
    to: PointBody | None = None
    version: VersionNumber | None = None
    what_if: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "array"}, {"type": "null"}]})] = None
    on_miss: Literal["raise", "call", "estimate"] | None = None


class EditedEntry(Shape):
    """An entry whose text or role is another."""

    before: EntryShape = Field(alias="from")
    after: EntryShape = Field(alias="to")


class MessageChanges(Shape):
    """Entries that joined the window, left it, changed, or left it by a compaction."""

    added: list[EntryShape]
    removed: list[EntryShape]
    edited: list[EditedEntry]
    covered: list[EntryShape]


class EditedMemory(Shape):
    """A memory that says something else."""

    before: MemoryShape = Field(alias="from")
    after: MemoryShape = Field(alias="to")


class MemoryChanges(Shape):
    """Structured memories that came, went, or changed."""

    added: list[MemoryShape]
    removed: list[MemoryShape]
    edited: list[EditedMemory]


class SummaryChanges(Shape):
    """Summaries that came or went."""

    added: list[SummaryShape]
    removed: list[SummaryShape]


class TextChange(Shape):
    """A text before and after."""

    before: str | None = Field(alias="from")
    after: str | None = Field(alias="to")


class NumberChange(Shape):
    """A number before and after."""

    before: int = Field(alias="from")
    after: int = Field(alias="to")


class Diff(Shape):
    """All that changed; *data* is a JSON Patch (RFC 6902)."""

    messages: MessageChanges
    data: list[JsonObject]
    context: TextChange
    memories: MemoryChanges
    summaries: SummaryChanges
    tokens: NumberChange
    versions: NumberChange


@router.post("/diff", operation_id="diff")
async def diff(session: SessionOf, body: DiffBody, caller: ReadCaller, service: ServiceOf) -> Diff:
    """Compare two points of a session, or the session with what it would be under another config; writes nothing."""
    before, after = _points(body, service)
    if body.on_miss == "call":
        caller.require("write")  # it costs money
    found = await session.ledger.diff(before=before, after=after, on_miss=body.on_miss or "raise", **session.names)
    return _shape(found.changes)


def _points(body: DiffBody, service: Service) -> tuple[LibraryPoint | None, LibraryPoint | None]:
    tries, compares = body.what_if is not None, body.from_ is not None or body.to is not None
    if tries == compares:
        raise InvalidInput("bad_value", "give from and to, or what_if", field="what_if")
    if tries:
        if not isinstance(body.what_if, dict | list):
            raise InvalidInput("wrong_type", "is a memory config", field="what_if")
        return body.version, body.what_if
    if body.version is not None or body.on_miss is not None:
        raise InvalidInput("unknown_field", "goes with what_if", field="version")
    return _point(body.from_, service, "from"), _point(body.to, service, "to")


def _point(point: PointBody | None, service: Service, field: str) -> LibraryPoint | None:
    if point is None:
        return None
    if point.version is not None and point.at is not None:
        raise InvalidInput("bad_version", "give a version or a moment, not both", field=field)
    return point.version if point.at is None else never_future(service, point.at)


def _shape(changes: Changes) -> Diff:
    return Diff(
        messages=MessageChanges(
            added=[EntryShape.of(entry) for entry in changes.added],
            removed=[EntryShape.of(entry) for entry in changes.removed],
            edited=[
                EditedEntry(**{"from": EntryShape.of(first), "to": EntryShape.of(other)})
                for first, other in changes.edited
            ],
            covered=[EntryShape.of(entry) for entry in changes.covered],
        ),
        data=list(changes.data),
        context=TextChange(**{"from": changes.from_context, "to": changes.to_context}),
        memories=MemoryChanges(
            added=[MemoryShape.of(memory) for memory in changes.memories_added],
            removed=[MemoryShape.of(memory) for memory in changes.memories_removed],
            edited=[
                EditedMemory(**{"from": MemoryShape.of(first), "to": MemoryShape.of(other)})
                for first, other in changes.memories_edited
            ],
        ),
        summaries=SummaryChanges(
            added=[SummaryShape.of(summary) for summary in changes.summaries_added],
            removed=[SummaryShape.of(summary) for summary in changes.summaries_removed],
        ),
        tokens=NumberChange(**{"from": changes.from_tokens, "to": changes.to_tokens}),
        versions=NumberChange(**{"from": changes.from_version, "to": changes.to_version}),
    )
