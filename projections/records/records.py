"""Long-term memory as a fold: the records of one stream. Pure. Source: http W-26 … W-29, W-71."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from ledger.errors import UnknownEvent
from ledger.events import (
    MemoryFields,
    OpaqueEvent,
    RecordCreated,
    RecordDeleted,
    RecordedEvent,
    RecordEdited,
    RecordMerged,
    RecordRestored,
    RecordSource,
    to_datetime,
)
from ledger.events.canonical import canonical_json

#: The session_id of streams of records (trust R-1): no session can have this name (trust N-3).
RECORDS: Final = "/records"

LIVE: Final = "live"
MERGED: Final = "merged"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of long-term memory, whether or not search finds it.

    *version*, its revision, is the version of the newest event about it. *status* is ``live``, ``merged``, or the
    reason of its deletion. *merges* are the versions of the events that merged it into another record.
    """

    record_id: str
    fields: MemoryFields
    version: int
    persisted_us: int
    updated_us: int
    status: str = LIVE
    merged_into: str | None = None
    merges: tuple[int, ...] = ()
    source: RecordSource | None = None

    @property
    def live(self) -> bool:
        """Whether search finds it."""
        return self.status == LIVE

    @property
    def created_at(self) -> datetime:
        """When it was created: the client's time, or else when it was stored."""
        return self.fields.created_at or to_datetime(self.persisted_us)

    @property
    def persisted_at(self) -> datetime:
        """When it was stored."""
        return to_datetime(self.persisted_us)

    @property
    def updated_at(self) -> datetime:
        """When its content was last changed."""
        return to_datetime(self.updated_us)


def about(event: RecordedEvent) -> tuple[str, ...]:
    """Return the ids of the records that *event* changes; there may be none.

    Raises:
        UnknownEvent: a newer release wrote it (style §2).
    """
    match event.payload:
        case OpaqueEvent(type=type_, schema_version=schema_version):
            raise UnknownEvent(type_, schema_version, version=event.version)
        case RecordMerged(record_id=record_id, merged=merged):
            return (record_id, *merged)
        case RecordCreated() | RecordEdited() | RecordDeleted() | RecordRestored() as payload:
            return (payload.record_id,)
        case _:
            return ()


def evolve(known: Mapping[str, Record], event: RecordedEvent) -> list[Record]:
    """Return the records that *event* changes, as they are after it; *known* are the records before.

    Raises:
        UnknownEvent: a newer release wrote it (style §2).
    """
    payload = event.payload
    match payload:
        case OpaqueEvent():
            return [known[item] for item in about(event)]
        case RecordMerged(record_id=keeper, merged=merged):
            remaining = [replace(known[keeper], version=event.version)] if keeper in known else []
            return [
                *remaining,
                *(_merged(known[record_id], keeper, event) for record_id in merged if record_id in known),
            ]
        case RecordDeleted(record_id=record_id, reason=reason):
            removed = known.get(record_id)
            return [replace(removed, status=reason, version=event.version)] if removed else []
        case RecordCreated(record_id=record_id):
            before = known.get(record_id)
            return [
                Record(
                    record_id=record_id,
                    fields=payload.fields,
                    version=event.version,
                    persisted_us=event.recorded_us,
                    updated_us=event.recorded_us,
                    merges=before.merges if before else (),
                    source=payload.source,
                )
            ]
        case RecordEdited(record_id=record_id) | RecordRestored(record_id=record_id):
            before = known.get(record_id)
            source = payload.source if isinstance(payload, RecordEdited) else None
            return [
                Record(
                    record_id=record_id,
                    fields=payload.fields,
                    version=event.version,
                    persisted_us=before.persisted_us if before else event.recorded_us,
                    updated_us=event.recorded_us,
                    merges=before.merges if before else (),
                    source=source or (before.source if before else None),
                )
            ]
        case _:
            return []


def fold(events: Iterable[RecordedEvent], known: Mapping[str, Record] | None = None) -> dict[str, Record]:
    """Return all records after *events* of one stream, oldest first, on top of those *known* before."""
    records = dict(known or {})
    for event in events:
        records.update({record.record_id: record for record in evolve(records, event)})
    return records


def identity(fields: MemoryFields) -> bytes:
    """Return a digest that is equal for two records of one stream if and only if their `memory_hash` is."""
    return sha256(canonical_json([fields.text, fields.session_id, fields.memory_type])).digest()


def memory_hash(fields: MemoryFields, *, user_id: str | None, namespace: str | None) -> str:
    """Return the hash of a record's content and names; missing names are null. Source: http W-29."""
    hashed = {
        "text": fields.text,
        "user_id": user_id,
        "session_id": fields.session_id,
        "namespace": namespace,
        "memory_type": fields.memory_type,
    }
    return sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


def _merged(record: Record, keeper: str, event: RecordedEvent) -> Record:
    merges = (*record.merges, event.version)
    return replace(record, status=MERGED, merged_into=keeper, merges=merges, version=event.version)
