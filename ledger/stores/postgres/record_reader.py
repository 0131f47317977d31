"""Records of long-term memory: look them up and search them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.events import StoredEvent
from ledger.ports.record_store import (
    NOT_EMBEDDED,
    RecordBuilds,
    RecordEvents,
    RecordHit,
    RecordHitPage,
    RecordLookup,
    RecordQuery,
    StoredRecord,
)
from ledger.stores.postgres import record_sources as sources
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.event_rows import EventCursor, stored_event
from ledger.stores.postgres.projection_store import BY_INDEX
from ledger.stores.postgres.record_conditions import where
from ledger.stores.postgres.record_sources import PLACE, RECORD
from projections.records.recency import DAY_S, MOST_HALVINGS, Recency
from projections.records.records import RECORDS, Record

_record: Final = msgspec.json.Decoder(Record)


class RecordReader:
    """The reading half of `ports.records.RecordStore`."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        self._pool = pool
        self._events = events

    async def read_events(self, after: Mapping[UUID, int], *, limit: int) -> dict[UUID, RecordEvents]:
        if new := [namespace_id for namespace_id, position in after.items() if not position]:
            wanted = {"namespaces": new, "records": RECORDS}
            after = {**after, **{row[0]: row[1] - 1 for row in await self._events.rows("first_records", None, wanted)}}
        bounds = {"namespaces": list(after), "after": list(after.values()), "limit": limit, "records": RECORDS}
        events: dict[UUID, list[tuple[str, StoredEvent]]] = {namespace_id: [] for namespace_id in after}
        reached = dict(after)
        for row in await self._events.rows("record_events", None, bounds, cursor=EventCursor):
            reached[row[17]] = row[1]
            if row[18] is not None:
                events[row[17]].append((row[18], stored_event(row[17], row)))
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
        own = [] if wanted.streams is None else [RECORD.c.stream_id == sources.any_of(wanted.streams, sa.Uuid)]
        columns = tuple(RECORD.c[name] for name in PLACE)
        places: list[tuple[sa.FromClause, sa.FromClause]] = []
        if wanted.record_ids:
            places.append(sources.of_each_id(builds, wanted.record_ids, *own, columns=columns))
        if wanted.identities:
            same = (RECORD.c.live, RECORD.c.identity == sources.any_of(wanted.identities, sa.LargeBinary))
            places.append(sources.of_each_build(builds, *own, *same, columns=columns))
        if not places:
            return []
        found = sa.union(*(sa.select(*row.c).select_from(source) for source, row in places)).subquery("h")
        return await self._stored(builds, found, (found.c.namespace_id, found.c.stream_id, _id(found)))

    async def duplicates(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[StoredRecord]:
        source, row = sources.of_each_build(builds, RECORD.c.live)
        scope = [row.c.extraction_strategy != "message"]
        if user_id is not None:
            scope.append(row.c.user_id == user_id)
        times = sa.func.count().over(partition_by=(row.c.namespace_id, row.c.stream_id, row.c.identity))
        # counted in one pass: a self-join of a table that was just filled is planned as a nested loop
        counted = sa.select(*_places(row), times.label("times")).select_from(source).where(*scope).subquery("c")
        found = sa.select(counted).where(counted.c.times > 1).subquery("h")
        order = (found.c.namespace_id, found.c.stream_id, found.c.created_at, _id(found))
        return await self._stored(builds, found, order)

    async def to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[StoredRecord]:
        source, row = sources.of_each_build(builds, RECORD.c.live)
        missing = row.c.extraction_strategy != NOT_EMBEDDED, ~sources.is_embedded(builds, row, model)
        left = sa.select(*_places(row)).select_from(source).where(*missing)
        found = left.order_by(row.c.created_at, _id(row), row.c.stream_id).limit(limit).subquery("h")
        return await self._stored(builds, found, (found.c.created_at, _id(found), found.c.stream_id))

    async def search(self, builds: RecordBuilds, query: RecordQuery) -> RecordHitPage:
        if not builds:
            return RecordHitPage(0, [])
        hits = _hits(builds, query).cte("hits")
        first = sa.select(hits).order_by(*_best_first(hits, query)).limit(query.limit).offset(query.offset)
        page = first.subquery("page")
        total = sa.select(sa.func.count().label("total")).select_from(hits).subquery("counted")
        joined, columns = sources.at_places(builds, page, total.outerjoin(page, sa.true()))
        wanted = sa.select(*columns, page.c.score, total.c.total).select_from(joined)
        rows = await self._rows(builds, wanted.order_by(*_best_first(page, query)))
        found = [RecordHit(_stored(row), row.score) for row in rows if row.stream_id is not None]
        return RecordHitPage(rows[0].total, found)

    async def _stored(
        self, builds: RecordBuilds, places: sa.FromClause, order: Sequence[sa.ColumnElement[Any]]
    ) -> list[StoredRecord]:
        joined, columns = sources.at_places(builds, places)
        wanted = sa.select(*columns).select_from(joined).order_by(*order)
        return [_stored(row) for row in await self._rows(builds, wanted)] if builds else []

    async def _rows(self, builds: RecordBuilds, wanted: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        async with self._pool.transaction(*builds) as connection:
            await connection.execute(BY_INDEX)
            rows: Sequence[sa.Row[Any]] = (await connection.execute(wanted)).all()
            return rows


def _stored(row: sa.Row[Any]) -> StoredRecord:
    return StoredRecord(
        namespace_id=row.namespace_id,
        stream_id=row.stream_id,
        user_id=row.user_id,
        record=_record.decode(row.record),
        last_accessed=row.last_accessed,
        access_count=row.access_count,
    )


def _places(row: sa.FromClause) -> tuple[sa.ColumnElement[Any], ...]:
    return (*(row.c[name] for name in PLACE), row.c.created_at)


def _id(row: sa.FromClause) -> sa.ColumnElement[Any]:
    return row.c.record_id.collate("C")


def _best_first(row: sa.FromClause, query: RecordQuery) -> tuple[sa.ColumnElement[Any], ...]:
    age = row.c.created_at.asc() if query.oldest_first else row.c.created_at.desc()
    return row.c.rank.desc(), age, _id(row), row.c.stream_id


def _hits(builds: RecordBuilds, query: RecordQuery) -> sa.Select[Any]:
    """Return the query for all hits: their places, scores and ranks."""
    if query.text is None:
        source, row = sources.of_each_build(builds, RECORD.c.live)
        score: sa.ColumnElement[Any] = sa.cast(sa.null(), sa.Double)
        shown: sa.ColumnElement[Any] = sa.literal(0)
        scope: list[sa.ColumnElement[bool]] = []
    else:
        source, row, score, is_hit = sources.scored(builds, query)
        shown, scope = score, [is_hit]
        if query.distance_threshold is not None:
            scope.append(1 - score <= query.distance_threshold)
    access = sources.accesses(row)
    last_accessed = sources.last_accessed(row, access)
    by_recency = query.recency if query.text is not None else None
    if by_recency is not None:
        shown = _rank(score, by_recency, query, created_at=row.c.created_at, last_accessed=last_accessed)
    if by_recency is not None or any(condition.field == "last_accessed" for condition in query.conditions):
        source = source.outerjoin(access, sources.within(builds, access))
    columns = {**dict(row.c), "last_accessed": last_accessed}
    scope += [where(condition, columns) for condition in query.conditions]
    return sa.select(*_places(row), score.label("score"), shown.label("rank")).select_from(source).where(*scope)


def _rank(
    score: sa.ColumnElement[Any],
    weights: Recency,
    query: RecordQuery,
    *,
    created_at: sa.ColumnElement[Any],
    last_accessed: sa.ColumnElement[Any],
) -> sa.ColumnElement[Any]:
    """Return *score* mixed with the recency of a record, as `projections.records.recency` defines it."""
    fresh = _halved(last_accessed, query, weights.half_life_last_access_days)
    novel = _halved(created_at, query, weights.half_life_created_days)
    mixed = weights.freshness_weight * fresh + weights.novelty_weight * novel
    recency = sa.func.least(1.0, sa.func.greatest(0.0, mixed))
    return weights.semantic_weight * score + weights.recency_weight * recency


def _halved(moment: sa.ColumnElement[Any], query: RecordQuery, half_life_days: float) -> sa.ColumnElement[Any]:
    """Return `projections.records.recency.halved` as SQL."""
    age = sa.cast(sa.func.extract("epoch", sa.literal(query.now) - moment), sa.Double)
    halvings = sa.func.greatest(0.0, age / DAY_S) / half_life_days
    return sa.func.power(sa.cast(2, sa.Double), -sa.func.least(halvings, MOST_HALVINGS))
