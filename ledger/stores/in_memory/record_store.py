"""Records of long-term memory in the in-memory store."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec.structs import replace

from ledger.ports import Clock
from ledger.ports.found_records import found_in
from ledger.ports.projection_store import FoldedPage
from ledger.ports.record_store import (
    NOT_EMBEDDED,
    RECORDS_PROJECTION,
    ChangedRecord,
    RecordAccess,
    RecordBuilds,
    RecordEvents,
    RecordHitPage,
    RecordKey,
    RecordLookup,
    RecordQuery,
    StoredRecord,
)
from ledger.stores.in_memory.namespace_rows import StoredNamespace, begin_live
from projections.records.records import RECORDS, Record, identity
from projections.words.languages import SearchLanguage


class _Access(msgspec.Struct, frozen=True):
    last: datetime
    count: int


class InMemoryRecords:
    """See `ports.records.RecordStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._rows: dict[tuple[UUID, int], dict[tuple[UUID, str], tuple[str, Record]]] = {}
        self._accesses: dict[RecordKey, _Access] = {}
        self._embeddings: dict[tuple[str, RecordKey], tuple[str, Sequence[float]]] = {}

    async def read_events(self, after: Mapping[UUID, int], *, limit: int) -> dict[UUID, RecordEvents]:
        found: dict[UUID, RecordEvents] = {}
        for namespace_id, first in after.items():
            namespace = self._namespaces.get(namespace_id)
            page = (
                [(namespace.names[event.stream_id], event) for event in namespace.log[first : first + limit]]
                if namespace
                else []
            )
            records = [(stream.user_id, event) for stream, event in page if stream.session_id == RECORDS]
            found[namespace_id] = RecordEvents(page[-1][1].position if page else first, records)
        return found

    async def save(
        self,
        namespace_id: UUID,
        build: int,
        records: Sequence[ChangedRecord],
        *,
        after: int,
        position: int,
        language: SearchLanguage,
    ) -> int | None:
        namespace = self._namespaces.get(namespace_id)
        built = namespace.checkpoints.get((RECORDS_PROJECTION, build)) if namespace else None
        if namespace is None or built is None or built.position != after:
            return built.position if built else None
        rows = self._rows.setdefault((namespace_id, build), {})
        for stream_id, user_id, record in records:
            rows[stream_id, record.record_id] = (user_id, record)
            if not record.live:
                removed = (namespace_id, stream_id, record.record_id)
                for key in [key for key in self._embeddings if key[1] == removed]:
                    del self._embeddings[key]
        moved = replace(built, position=position, updated_at=self._clock.now(), last_error=None)
        namespace.checkpoints[RECORDS_PROJECTION, build] = moved
        return position

    async def save_all(
        self, pages: Iterable[FoldedPage[ChangedRecord]], *, language: SearchLanguage, begin_as: bytes | None = None
    ) -> dict[UUID, int | None]:
        reached: dict[UUID, int | None] = {}
        for namespace_id, build, after, position, rows in pages:
            if begin_as is not None and not after and namespace_id in self._namespaces:
                begin_live(self._namespaces[namespace_id], RECORDS_PROJECTION, build, begin_as, self._clock.now())
            reached[namespace_id] = await self.save(
                namespace_id, build, rows, after=after, position=position, language=language
            )
        return reached

    async def prune(self, namespace_id: UUID) -> int:
        builds = self._namespaces[namespace_id].checkpoints if namespace_id in self._namespaces else {}
        unused = [key for key in self._rows if key[0] == namespace_id and (RECORDS_PROJECTION, key[1]) not in builds]
        return sum(len(self._rows.pop(key)) for key in unused)

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, str]:
        known = {item_id: self._namespaces[item_id] for item_id in namespace_ids if item_id in self._namespaces}
        return {
            item: namespace.info.namespace
            for item, namespace in known.items()
            if any(stream.session_id == RECORDS for stream in namespace.names.values())
        }

    async def find(self, builds: RecordBuilds, wanted: RecordLookup) -> list[StoredRecord]:
        found = [
            record
            for record in self._all(builds)
            if (wanted.streams is None or record.stream_id in wanted.streams)
            and (
                record.record.record_id in wanted.record_ids
                or (record.record.live and identity(record.record.fields) in wanted.identities)
            )
        ]
        return sorted(found, key=lambda record: record.key)

    async def duplicates(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[StoredRecord]:
        scope = [
            record
            for record in self._live(builds)
            if record.record.fields.extraction_strategy != "message" and user_id in {None, record.user_id}
        ]
        texts = [(*record.key[:2], identity(record.record.fields)) for record in scope]
        several = [record for record, same in zip(scope, texts, strict=True) if texts.count(same) > 1]
        return sorted(several, key=lambda record: (*record.key[:2], record.record.created_at, record.record.record_id))

    async def search(self, builds: RecordBuilds, query: RecordQuery) -> RecordHitPage:
        return found_in(list(self._live(builds)), query, lambda record: self._embedding(query.model, record))

    async def touch(self, keys: Sequence[RecordKey], *, now: datetime, pause_s: float) -> None:
        for key in set(keys):
            before = self._accesses.get(key)
            if before is None or not before.count or before.last <= now - timedelta(seconds=pause_s):
                last = max(now, before.last) if before else now
                self._accesses[key] = _Access(last, before.count + 1 if before else 1)

    async def seed_accesses(self, accesses: Sequence[RecordAccess]) -> None:
        for record_access in accesses:
            self._accesses.setdefault(
                record_access.key, _Access(record_access.last_accessed, record_access.access_count)
            )

    async def stores_embeddings(self) -> bool:
        return True

    async def to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[StoredRecord]:
        left = [
            record
            for record in self._live(builds)
            if record.record.fields.extraction_strategy != NOT_EMBEDDED and self._embedding(model, record) is None
        ]
        return sorted(left, key=lambda record: (record.record.created_at, record.record.record_id, record.stream_id))[
            :limit
        ]

    async def save_embeddings(self, model: str, embeddings: Sequence[tuple[StoredRecord, Sequence[float]]]) -> None:
        for record, vector in embeddings:
            self._embeddings[model, record.key] = (record.record.fields.text, vector)

    def _all(self, builds: RecordBuilds) -> Iterator[StoredRecord]:
        for key in builds.items():
            for (stream_id, record_id), (user_id, record) in self._rows.get(key, {}).items():
                access = self._accesses.get((key[0], stream_id, record_id)) or _Access(record.persisted_at, 0)
                yield StoredRecord(
                    namespace_id=key[0],
                    stream_id=stream_id,
                    user_id=user_id,
                    record=record,
                    last_accessed=access.last,
                    access_count=access.count,
                )

    def _live(self, builds: RecordBuilds) -> Iterator[StoredRecord]:
        return (record for record in self._all(builds) if record.record.live)

    def _embedding(self, model: str, record: StoredRecord) -> Sequence[float] | None:
        text, vector = self._embeddings.get((model, record.key), ("", None))
        return vector if text == record.record.fields.text else None
