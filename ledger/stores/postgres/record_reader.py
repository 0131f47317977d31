"""Records of long-term memory: look them up and search them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.events import StoredEvent
from ledger.ports.records import (
    MOST_WORDS,
    RecordBuilds,
    RecordEvents,
    RecordHit,
    RecordHitPage,
    RecordLookup,
    RecordQuery,
    StoredRecord,
)
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventCursor, EventReader, stored_event
from ledger.stores.postgres.record_conditions import LAST_ACCESSED, where
from ledger.stores.postgres.vectors import vector_text
from projections.ranking import searchable
from projections.recency import DAY_S, MOST_HALVINGS, Recency
from projections.records import RECORDS, Record

_ROW: Final = tables.records.c
_ACCESS: Final = tables.record_accesses
_MEANING: Final = tables.record_embeddings
_KEY: Final = ("namespace_id", "stream_id", "record_id")
_ID: Final = _ROW.record_id.collate("C")
_record: Final = msgspec.json.Decoder(Record)
_COLUMNS: Final = (
    _ROW.namespace_id,
    _ROW.stream_id,
    _ROW.user_id,
    _ROW.record,
    LAST_ACCESSED.label("last_accessed"),
    sa.func.coalesce(_ACCESS.c.access_count, 0).label("access_count"),
)


class RecordReader:
    """The reading half of `ports.records.RecordStore`."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        self._pool = pool
        self._events = events

    async def read_events(self, after: Mapping[UUID, int], *, limit: int) -> dict[UUID, RecordEvents]:
        bounds = {"namespaces": list(after), "after": list(after.values()), "limit": limit, "records": RECORDS}
        events: dict[UUID, list[tuple[str, StoredEvent]]] = {namespace_id: [] for namespace_id in after}
        reached = dict(after)
        for row in await self._events.rows("record_events", None, bounds, cursor=EventCursor):
            reached[row[16]] = row[1]
            if row[17] is not None:
                events[row[16]].append((row[17], stored_event(row[16], row)))
        return {namespace_id: RecordEvents(reached[namespace_id], found) for namespace_id, found in events.items()}

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, str]:
        namespaces, streams = tables.namespaces.c, tables.streams.c
        those = sa.any_(sa.cast(list(namespace_ids), ARRAY(sa.Uuid)))
        holding = sa.select(streams.namespace_id).where(streams.session_id == RECORDS, streams.namespace_id == those)
        wanted = sa.select(namespaces.namespace_id, namespaces.namespace).where(
            namespaces.namespace_id == those, namespaces.namespace_id.in_(holding)
        )
        async with self._pool.transaction(*namespace_ids) as connection:
            return {row[0]: row[1] for row in await connection.execute(wanted)}

    async def find(self, builds: RecordBuilds, wanted: RecordLookup) -> list[StoredRecord]:
        either: list[sa.ColumnElement[bool]] = []
        if wanted.record_ids:
            either.append(_ROW.record_id.in_(wanted.record_ids))
        if wanted.identities:
            either.append(sa.and_(_ROW.live, _ROW.identity.in_(wanted.identities)))
        if not either:
            return []
        found = sa.select(*_COLUMNS).select_from(_with_accesses(builds)).where(_in(builds), sa.or_(*either))
        if wanted.streams is not None:
            found = found.where(_ROW.stream_id.in_(wanted.streams))
        return await self._stored(builds, found.order_by(_ROW.namespace_id, _ROW.stream_id, _ID))

    async def duplicates(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[StoredRecord]:
        scope = [_in(builds), _ROW.live, _ROW.extraction_strategy != "message"]
        if user_id is not None:
            scope.append(_ROW.user_id == user_id)
        same = (_ROW.namespace_id, _ROW.stream_id, _ROW.identity)
        own = (_ROW.created_at, _ID.label("own_id"), sa.func.count().over(partition_by=same).label("times"))
        # counted in one pass: a self-join of a table that was just filled is planned as a nested loop
        counted = sa.select(*_COLUMNS, *own).select_from(_with_accesses(builds)).where(*scope).subquery()
        order = (counted.c.namespace_id, counted.c.stream_id, counted.c.created_at, counted.c.own_id.collate("C"))
        return await self._stored(builds, sa.select(counted).where(counted.c.times > 1).order_by(*order))

    async def to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[StoredRecord]:
        there = sa.exists().where(*_its_meaning(builds, model))
        found = sa.select(*_COLUMNS).select_from(_with_accesses(builds)).where(_in(builds), _ROW.live, ~there)
        return await self._stored(builds, found.order_by(_ROW.created_at, _ID, _ROW.stream_id).limit(limit))

    async def search(self, builds: RecordBuilds, query: RecordQuery) -> RecordHitPage:
        source, score = (_with_accesses(builds), None) if query.text is None else _scored(builds, query)
        shown = sa.null() if score is None else score
        found = (
            sa.select(*_COLUMNS, shown.label("score"), sa.func.count().over().label("total"))
            .select_from(source)
            .where(_in(builds), _ROW.live, *(where(condition) for condition in query.conditions))
        )
        if score is not None:
            found = found.where(score.is_not(None))
            if query.distance_threshold is not None:
                found = found.where(1 - score <= query.distance_threshold)
        age = _ROW.created_at.asc() if query.oldest_first else _ROW.created_at.desc()
        best = [] if score is None else [_rank(score, query).desc()]
        page = found.order_by(*best, age, _ID, _ROW.stream_id).limit(query.limit).offset(query.offset)
        if not builds:
            return RecordHitPage(0, [])
        async with self._pool.transaction(*builds) as connection:
            rows = (await connection.execute(page)).all()
            total = rows[0].total if rows else 0
            if not rows and query.offset:  # the page is empty, so no row holds the total
                first = found.with_only_columns(sa.func.count())
                total = await connection.scalar(first) or 0
        hits = [RecordHit(_stored(row), None if score is None else float(row.score)) for row in rows]
        return RecordHitPage(total, hits)

    async def _stored(self, builds: RecordBuilds, wanted: sa.Select[Any]) -> list[StoredRecord]:
        if not builds:
            return []
        async with self._pool.transaction(*builds) as connection:
            return [_stored(row) for row in await connection.execute(wanted)]


def _stored(row: sa.Row[Any]) -> StoredRecord:
    return StoredRecord(
        namespace_id=row.namespace_id,
        stream_id=row.stream_id,
        user_id=row.user_id,
        record=_record.decode(row.record),
        last_accessed=row.last_accessed,
        access_count=row.access_count,
    )


def _in(builds: RecordBuilds) -> sa.ColumnElement[bool]:
    return sa.tuple_(_ROW.namespace_id, _ROW.projection_version).in_(list(builds.items()))


def _with_accesses(builds: RecordBuilds) -> sa.Join:
    """Return the records joined with their accesses; each table has the namespaces as parameters (trust D-14)."""
    same = [_ACCESS.c[name] == _ROW[name] for name in _KEY]
    return tables.records.outerjoin(_ACCESS, sa.and_(*same, _ACCESS.c.namespace_id.in_(list(builds))))


def _its_meaning(builds: RecordBuilds, model: str) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that join a record with the embedding of its current text."""
    same = [_MEANING.c[name] == _ROW[name] for name in _KEY]
    return [
        *same,
        _MEANING.c.namespace_id.in_(list(builds)),
        _MEANING.c.model == model,
        _MEANING.c.text_digest == _ROW.text_digest,
    ]


def _scored(builds: RecordBuilds, query: RecordQuery) -> tuple[sa.FromClause, sa.ColumnElement[Any]]:
    """Return the joined tables of a query and its score, null for records that are not hits."""
    text = searchable((query.text or "").replace("\x00", " ").encode(errors="replace").decode())
    words = sa.func.ledger.search_records(
        sa.cast(list(builds), ARRAY(sa.Uuid)),
        sa.cast(list(builds.values()), ARRAY(sa.Integer)),
        query.language,
        text,
        MOST_WORDS,
    ).table_valued(*(sa.column(name) for name in _KEY), sa.column("score", sa.Double), name="words")
    with_accesses = _with_accesses(builds)
    its_words = sa.and_(*(words.c[name] == _ROW[name] for name in _KEY))
    if query.vector is None or query.mode == "keyword":
        return with_accesses.join(words, its_words), words.c.score
    meant, meaning = sa.and_(*_its_meaning(builds, query.model)), _similarity(query.vector)
    if query.mode == "semantic":
        return with_accesses.join(_MEANING, meant), meaning
    both = with_accesses.outerjoin(words, its_words).outerjoin(_MEANING, meant)
    found = sa.or_(words.c.record_id.is_not(None), meaning.is_not(None))
    mixed = query.alpha * sa.func.coalesce(meaning, 0.0) + (1 - query.alpha) * sa.func.coalesce(words.c.score, 0.0)
    return both, sa.case((found, mixed))


def _similarity(vector: Sequence[float]) -> sa.ColumnElement[Any]:
    """Return the cosine similarity, 0 to 1; null if the dimensions differ, 0 if a vector has length 0."""
    ours = sa.cast(sa.literal(vector_text(vector)), tables.PublicVector())
    apart: sa.ColumnElement[Any] = _MEANING.c.embedding.op("OPERATOR(public.<=>)", return_type=sa.Double())(ours)
    near = sa.func.coalesce(1 - sa.func.nullif(apart, sa.cast("NaN", sa.Double)), 0.0)
    bounded = sa.func.least(1.0, sa.func.greatest(0.0, near))
    return sa.case((sa.func.public.vector_dims(_MEANING.c.embedding) == len(vector), bounded))


def _rank(score: sa.ColumnElement[Any], query: RecordQuery) -> sa.ColumnElement[Any]:
    if query.recency is None:
        return score
    weights: Recency = query.recency
    fresh = _halved(LAST_ACCESSED, query, weights.half_life_last_access_days)
    novel = _halved(_ROW.created_at, query, weights.half_life_created_days)
    mixed = weights.freshness_weight * fresh + weights.novelty_weight * novel
    recency = sa.func.least(1.0, sa.func.greatest(0.0, mixed))
    return weights.semantic_weight * score + weights.recency_weight * recency


def _halved(moment: sa.ColumnElement[Any], query: RecordQuery, half_life_days: float) -> sa.ColumnElement[Any]:
    """Return `projections.recency.halved` as SQL."""
    age = sa.cast(sa.func.extract("epoch", sa.literal(query.now) - moment), sa.Double)
    halvings = sa.func.greatest(0.0, age / DAY_S) / half_life_days
    return sa.func.power(sa.cast(2, sa.Double), -sa.func.least(halvings, MOST_HALVINGS))
