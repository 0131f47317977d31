"""What our own routes answer with, as far as several of them share it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from ledger.events import JsonObject, Kind, Ranges, ToolStatus, to_datetime
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.summaries import Summary
from projections.working_memory import Memory


def written(moment: datetime) -> str:
    """Return *moment* as ISO 8601 in UTC, to the microsecond (http W-6)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


#: A moment, as http W-6 writes it.
Time: TypeAlias = Annotated[
    datetime,
    PlainSerializer(written, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
SessionStatus: TypeAlias = Literal["live", "expired", "ended"]
#: What became of an entry.
EntryStatus: TypeAlias = Literal["active", "covered", "erased", "removed", "cleared"]


class Shape(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EntryShape(Shape):
    """An entry, with the text it has now."""

    id: str
    version: int
    kind: Kind
    role: str
    content: str
    tokens: int
    tokenizer: str
    data: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Any = None
    created_at: Time
    recorded_at: Time
    edited_version: int | None = None
    metadata: JsonObject | None = None

    @classmethod
    def of(cls, entry: Entry) -> "EntryShape":
        """Return *entry* as it is answered."""
        return cls(**entry_fields(entry))


def entry_fields(entry: Entry) -> JsonObject:
    """Return the fields of `EntryShape`."""
    return {
        "id": entry.entry_id,
        "created_at": entry.moment,
        "recorded_at": to_datetime(entry.recorded_us),
        **{
            name: getattr(entry, name)
            for name in EntryShape.model_fields
            if name not in {"id", "created_at", "recorded_at"}
        },
    }


class SummaryShape(Shape):
    """A summary and the versions of what it stands for."""

    id: str
    version: int
    key: str
    text: str
    tokens: int
    tokens_before: int
    covered: Ranges
    folds: tuple[str, ...]
    method: str | None
    model: str | None
    created_at: Time

    @classmethod
    def of(cls, summary: Summary) -> "SummaryShape":
        """Return *summary* as it is answered."""
        return cls(
            id=summary.summary_id,
            version=summary.version,
            key=summary.key,
            text=summary.text,
            tokens=summary.tokens,
            tokens_before=summary.tokens_before,
            covered=summary.covered,
            folds=summary.folds,
            method=summary.method,
            model=summary.model,
            created_at=summary.created_at,
        )


class MemoryShape(Shape):
    """A structured memory of a session, as a record of long-term memory is shown."""

    id: str
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
    discrete_memory_extracted: Literal["t", "f"]
    extracted_from: tuple[str, ...] | None
    extraction_strategy: str
    extraction_strategy_config: JsonObject
    metadata: JsonObject

    @classmethod
    def of(cls, memory: Memory) -> "MemoryShape":
        """Return *memory* as it is answered."""
        known = msgspec.structs.asdict(memory.fields)
        extracted = known.pop("extracted")
        return cls(
            **{
                **known,
                "id": memory.memory_id,
                "created_at": memory.created_at,
                "persisted_at": to_datetime(memory.persisted_us) if memory.persisted_us else None,
                "discrete_memory_extracted": "t" if extracted else "f",
            }
        )


def status_of(state: SessionState, moment: datetime) -> SessionStatus:
    """Return whether the session lives at *moment* (http W-63)."""
    if not state.opened:
        return "ended"
    return "expired" if state.has_expired(moment) else "live"


def plain(struct: msgspec.Struct) -> Mapping[str, Any]:
    """Return a result of the library as plain values, from which a shape of the same fields is made."""
    found = msgspec.to_builtins(struct, str_keys=True)
    assert isinstance(found, dict)
    return found
