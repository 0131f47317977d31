"""What long-term memory returns, and its JSON. Source: http W-6, W-28, W-29, W-31, W-71."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from ledger.events import JsonObject
from ledger.ports.record_store import RecordHit, StoredRecord
from projections.records.records import memory_hash

#: The names that the working-memory API has for fields of a record.
_SHOWN_AS: Final = {"record_id": "id", "extracted": "discrete_memory_extracted"}


class LongTermRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as a caller sees it; the default namespace and the empty user are None."""

    record_id: str
    text: str
    session_id: str | None
    user_id: str | None
    namespace: str | None
    last_accessed: datetime
    created_at: datetime
    updated_at: datetime
    pinned: bool
    access_count: int
    topics: list[str] | None
    entities: list[str] | None
    memory_hash: str
    extracted: bool
    memory_type: str
    persisted_at: datetime
    extracted_from: list[str] | None
    event_date: datetime | None
    extraction_strategy: str
    extraction_strategy_config: JsonObject
    metadata: JsonObject

    def as_json(self) -> JsonObject:
        """Return it as the working-memory API shows a record, every key present."""
        plain = {_SHOWN_AS.get(name, name): _plain(getattr(self, name)) for name in self.__struct_fields__}
        return {**plain, "discrete_memory_extracted": "t" if self.extracted else "f"}


class FoundRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that a search found; *score_type* is how it was ranked, None without a text."""

    record: LongTermRecord
    dist: float
    score: float | None
    score_type: str | None

    def as_json(self) -> JsonObject:
        """Return it as plain JSON."""
        return {**self.record.as_json(), "dist": self.dist, "score": self.score, "score_type": self.score_type}


class RecordPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of found records; *total* counts all of them, *next_offset* is None on the last page."""

    memories: list[FoundRecord]
    total: int
    next_offset: int | None

    def as_json(self) -> JsonObject:
        """Return it as plain JSON."""
        found = [found_record.as_json() for found_record in self.memories]
        return {"memories": found, "total": self.total, "next_offset": self.next_offset}


class ForgetResult(msgspec.Struct, frozen=True, kw_only=True):
    """What forgetting did, or would do: how many records it read, and which it deleted."""

    scanned: int
    deleted: int
    deleted_ids: list[str]
    dry_run: bool

    def as_json(self) -> JsonObject:
        """Return it as plain JSON."""
        return msgspec.structs.asdict(self)


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A record after one event about it. *status* is ``live``, ``merged`` or the reason of its deletion.

    *revision* is the version of that event in the stream of *user_id* in *namespace*; a record that was moved has
    revisions in several streams.
    """

    revision: int
    user_id: str | None
    namespace: str | None
    type: str
    recorded_at: datetime
    actor: str
    status: str
    merged_into: str | None
    record: LongTermRecord

    def as_json(self) -> JsonObject:
        """Return it as plain JSON."""
        own = {name: _plain(getattr(self, name)) for name in self.__struct_fields__ if name != "record"}
        return {**own, "record": self.record.as_json()}


def shown(stored: StoredRecord, *, namespace: str | None) -> LongTermRecord:
    """Return *stored* as a caller sees it, in *namespace*, which is None for the default one."""
    record, fields = stored.record, stored.record.fields
    user_id = stored.user_id or None
    return LongTermRecord(
        record_id=record.record_id,
        text=fields.text,
        session_id=fields.session_id,
        user_id=user_id,
        namespace=namespace,
        last_accessed=stored.last_accessed.astimezone(UTC),
        created_at=record.created_at,
        updated_at=record.updated_at,
        pinned=fields.pinned,
        access_count=stored.access_count,
        topics=_listed(fields.topics),
        entities=_listed(fields.entities),
        memory_hash=memory_hash(fields, user_id=user_id, namespace=namespace),
        extracted=fields.extracted,
        memory_type=fields.memory_type,
        persisted_at=record.persisted_at,
        extracted_from=_listed(fields.extracted_from),
        event_date=fields.event_date,
        extraction_strategy=fields.extraction_strategy,
        extraction_strategy_config=fields.extraction_strategy_config,
        metadata=fields.metadata,
    )


def found(hit: RecordHit, *, namespace: str | None, score_type: str | None) -> FoundRecord:
    """Return *hit* as a caller sees it."""
    return FoundRecord(
        record=shown(hit.stored, namespace=namespace),
        dist=0.0 if hit.score is None else 1 - hit.score,
        score=hit.score,
        score_type=score_type,
    )


def _listed(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _plain(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
