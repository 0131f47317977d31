"""Records of long-term memory: their rows, reads and embeddings."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.events.canonical import canonical_json
from ledger.ports.projection_store import FoldedPage
from ledger.ports.record_store import RECORDS_PROJECTION, ChangedRecord, RecordAccess, RecordKey, StoredRecord
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.projection_store import in_place, move_on, unused_rows
from ledger.stores.postgres.record_reader import RecordReader
from ledger.stores.postgres.search_vectors import EmbeddingTable, vector_of_words, vector_text
from projections.records.record_filters import folded
from projections.records.records import Record, identity
from projections.words.languages import SearchLanguage
from projections.words.searchable_text import PIECE_CHARACTERS
from projections.words.words import index_words

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "record_queries").glob("*.sql")}
_PUT: Final = sa.text(_QUERIES["put_records"])
_TOUCH: Final = sa.text(_QUERIES["touch_records"])
_PUT_EMBEDDINGS: Final = sa.text(_QUERIES["put_record_embeddings"])


class PostgresRecords(RecordReader):
    """See `ports.records.RecordStore`."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        super().__init__(pool, events)
        self._embeddings = EmbeddingTable(pool, "record_embeddings")

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
        page = FoldedPage(namespace_id, build, after, position, records)
        return (await self._save([page], language))[namespace_id]

    async def save_all(
        self, pages: Iterable[FoldedPage[ChangedRecord]], *, language: SearchLanguage, begin_as: bytes | None = None
    ) -> dict[UUID, int | None]:
        return await self._save(list(pages), language, begin_as)

    async def _save(
        self, pages: Sequence[FoldedPage[ChangedRecord]], language: SearchLanguage, begin_as: bytes | None = None
    ) -> dict[UUID, int | None]:
        embeds = await self.stores_embeddings()
        namespaces = [page.namespace_id for page in pages]
        async with self._pool.transaction(*namespaces, takes_time=True) as connection:
            following, reached = await in_place(connection, RECORDS_PROJECTION, pages, begin_as)
            rows = [
                {"namespace": page.namespace_id, "build": page.build, **record_columns(*record, language=language)}
                for page in following
                for record in page.rows
            ]
            if rows:
                columns = {name: [row[name] for row in rows] for name in rows[0]}
                await connection.execute(_PUT, columns)
            if embeds:
                await _delete_embeddings(connection, following)
            await move_on(connection, RECORDS_PROJECTION, following)
            return reached

    async def prune(self, namespace_id: UUID) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            return (await connection.execute(unused_rows(namespace_id, RECORDS_PROJECTION, tables.records))).rowcount

    async def touch(self, keys: Sequence[RecordKey], *, now: datetime, pause_s: float) -> None:
        if not keys:
            return
        ordered = sorted(set(keys))  # sorted, so that two readers lock the same rows in the same order
        touched = {
            "namespaces": [namespace_id for namespace_id, _, _ in ordered],
            "streams": [stream for _, stream, _ in ordered],
            "ids": [record_id for _, _, record_id in ordered],
            "now": now,
            "pause": pause_s,
        }
        async with self._pool.transaction(*{namespace_id for namespace_id, _, _ in ordered}) as connection:
            await connection.execute(_TOUCH, touched)

    async def seed_accesses(self, accesses: Sequence[RecordAccess]) -> None:
        rows = [
            {
                "namespace_id": record_access.namespace_id,
                "stream_id": record_access.stream_id,
                "record_id": record_access.record_id,
                "last_accessed": record_access.last_accessed,
                "access_count": record_access.access_count,
            }
            for record_access in sorted(accesses, key=lambda record_access: record_access.key)
        ]
        if not rows:
            return
        async with self._pool.transaction(*{record_access.namespace_id for record_access in accesses}) as connection:
            await connection.execute(insert(tables.record_accesses).values(rows).on_conflict_do_nothing())

    async def stores_embeddings(self) -> bool:
        return await self._embeddings.exists()

    async def save_embeddings(self, model: str, embeddings: Sequence[tuple[StoredRecord, Sequence[float]]]) -> None:
        if not embeddings:
            return
        ordered = sorted(embeddings, key=lambda pair: pair[0].key)
        rows = {
            "model": model,
            "namespaces": [record.namespace_id for record, _ in ordered],
            "streams": [record.stream_id for record, _ in ordered],
            "ids": [record.record.record_id for record, _ in ordered],
            "digests": [_digest(record.record.fields.text) for record, _ in ordered],
            "embeddings": [vector_text(vector) for _, vector in ordered],
        }
        async with self._pool.transaction(*{record.namespace_id for record, _ in ordered}) as connection:
            await connection.execute(_PUT_EMBEDDINGS, rows)


def record_columns(stream_id: UUID, user_id: str, record: Record, *, language: SearchLanguage) -> dict[str, object]:
    """Return the row of *record* without namespace and build."""
    fields = record.fields
    words = index_words(fields.text[:PIECE_CHARACTERS], language=language)  # a tsvector has a limited size
    return {
        "stream_id": stream_id,
        "created_at": record.created_at,
        "persisted_at": record.persisted_at,
        "event_date": fields.event_date,
        "live": record.live,
        "record_id": record.record_id,
        "user_id": user_id,
        "session_id": fields.session_id,
        "memory_type": fields.memory_type,
        "extraction_strategy": fields.extraction_strategy,
        "topics": _as_array("topics", fields.topics),
        "entities": _as_array("entities", fields.entities),
        "identity": identity(fields),
        "text_digest": _digest(fields.text),
        "record": canonical_json(record),
        "stems": vector_of_words(words),
    }


async def _delete_embeddings(connection: AsyncConnection, pages: Sequence[FoldedPage[ChangedRecord]]) -> None:
    """Delete the embeddings of records that are no longer live."""
    table = tables.record_embeddings
    for page in pages:
        removed = [(stream_id, record.record_id) for stream_id, _, record in page.rows if not record.live]
        if removed:
            key = sa.tuple_(table.c.stream_id, table.c.record_id)
            await connection.execute(table.delete().where(table.c.namespace_id == page.namespace_id, key.in_(removed)))


def _as_array(name: str, values: Sequence[str] | None) -> str:
    """Return the names in a list as one JSON text, since arrays of different lengths do not form a column."""
    return canonical_json([folded(name, value) for value in values or ()]).decode()


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()
