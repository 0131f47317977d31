"""Show the history of a record of long-term memory, and restore a revision (http W-71)."""

from typing import Annotated

from pydantic import ConfigDict, Field

from ledger.application.json_models.memory_json import RecordShape, RevisionShape
from ledger.application.json_models.shapes import Shape
from ledger.events.names import check_name
from ledger.events.strict_json import INT_MAX
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.compat.long_term_memory_routes import MemoryOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody

router = native_router(prefix="/v1/long-term-memory/{memory_id}", tags=["long-term memory"])


class Revisions(Shape):
    """All revisions of a record, oldest first."""

    revisions: tuple[RevisionShape, ...]


class BackTo(StrictBody):
    """The revision to restore; the names are needed only if it was live in several places.

    An empty ``user_id`` means no user.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"revision": 2}]})

    revision: Annotated[int, Field(ge=1, le=INT_MAX)]
    namespace: str | None = None
    user_id: str | None = None


@router.get("/history", operation_id="record_history")
async def history(memory_id: str, caller: ReadCaller, memory: MemoryOf) -> Revisions:
    """Return every revision of a record, also of one that was deleted or merged."""
    return Revisions(
        revisions=tuple(RevisionShape.model_validate(revision) for revision in await memory.history(memory_id))
    )


@router.post("/restore", operation_id="restore_record")
async def restore(memory_id: str, body: BackTo, caller: WriteCaller, memory: MemoryOf) -> RecordShape:
    """Make a record what it was at a revision: edits, merges, forgets and deletions are undone."""
    caller.require("read")  # the answer is the whole record
    if body.namespace is not None:
        check_name(caller.namespace(body.namespace), field="namespace")
    record = await memory.restore(memory_id, body.revision, namespace=body.namespace, user_id=body.user_id)
    return RecordShape.model_validate(record)
