"""Memories of a session, and records of long-term memory."""

from typing import Any

import msgspec
from pydantic import model_validator

from ledger.application.json_models.shapes import Shape, Time
from ledger.events import JsonObject
from projections.working_memory import Memory


class MemoryFieldsShape(Shape):
    """What memories of sessions and records of long-term memory have in common."""

    text: str
    memory_type: str
    session_id: str | None
    user_id: str | None
    namespace: str | None
    topics: tuple[str, ...] | None
    entities: tuple[str, ...] | None
    event_date: Time | None
    created_at: Time
    persisted_at: Time | None
    pinned: bool
    extracted: bool
    extracted_from: tuple[str, ...] | None
    extraction_strategy: str
    extraction_strategy_config: JsonObject
    metadata: JsonObject


class MemoryShape(MemoryFieldsShape):
    """A structured memory of a session; *persisted_at* is when it became a record of long-term memory."""

    memory_id: str
    version: int

    @model_validator(mode="before")
    @classmethod
    def _read(cls, found: Any) -> Any:
        if not isinstance(found, Memory):
            return found
        own = {name: getattr(found, name) for name in ("memory_id", "version", "created_at", "persisted_at")}
        return {**msgspec.structs.asdict(found.fields), **own}


class RecordShape(MemoryFieldsShape):
    """A record of long-term memory."""

    record_id: str
    updated_at: Time
    last_accessed: Time
    access_count: int
    memory_hash: str


class RevisionShape(Shape):
    """A record after one event about it; *status* is live, merged, or why it was deleted."""

    revision: int
    user_id: str | None
    namespace: str | None
    type: str
    recorded_at: Time
    actor: str
    status: str
    merged_into: str | None
    record: RecordShape
