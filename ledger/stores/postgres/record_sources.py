"""What queries of long-term memory read, piece by piece: each inner query has one index, whatever the planner knows.

An inner query with ``OFFSET 0`` is planned by itself, for one namespace or one record. The filter on the namespaces of
the query (trust D-14) is on its result.
"""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.ports.record_store import MOST_WORDS, RecordBuilds, RecordQuery
from ledger.stores.postgres import tables
from ledger.stores.postgres.search_vectors import similarity
from projections.words.words import asked_words

KEY: Final = ("namespace_id", "stream_id", "record_id")
#: The columns that find a record.
PLACE: Final = (*KEY, "projection_version")
#: The records of an inner query.
RECORD: Final = tables.records.alias("i")
_ACCESS: Final = tables.record_accesses.alias("a")
_MEANING: Final = tables.record_embeddings.alias("e")
#: What conditions and ranking look at. The record itself is read for those that are returned.
_LOOKED_AT: Final = tuple(column for column in RECORD.c if column.name not in {"record", "vector"})
_RETURNED: Final = tuple(RECORD.c[name] for name in (*KEY, "user_id", "record", "persisted_at"))
_ALL: Final[sa.ColumnElement[int]] = sa.literal_column("0")


def any_of(values: Iterable[Any], kind: type[Any]) -> Any:
    """Return `= ANY` of *values*, an array."""
    return sa.any_(sa.cast(list(values), ARRAY(kind)))


def within(builds: RecordBuilds, inner: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return the filter of *inner* on the namespaces of *builds*."""
    condition: sa.ColumnElement[bool] = inner.c.namespace_id == any_of(builds, sa.Uuid)
    return condition


def of_each_build(
    builds: RecordBuilds, *conditions: sa.ColumnElement[bool], columns: Iterable[Any] = _LOOKED_AT
) -> tuple[sa.FromClause, sa.FromClause]:
    """Return the tables to select from for the records of *builds* that meet *conditions*, and the records."""
    each = _each(builds)
    row = _of(each, *conditions, columns=columns)
    return each.join(row, within(builds, row)), row


def of_each_id(
    builds: RecordBuilds, ids: Iterable[str], *conditions: sa.ColumnElement[bool], columns: Iterable[Any]
) -> tuple[sa.FromClause, sa.FromClause]:
    """Return the same for the records with *ids*, id by id.

    Looked up together they are a filter behind a read of the whole build, before PostgreSQL 17 and without statistics.
    """
    each = _each(builds)
    one = (
        sa.func.unnest(sa.cast(sorted(set(ids)), ARRAY(sa.Text)))
        .table_valued(sa.column("id", sa.Text), name="one")
        .render_derived()
    )
    row = _of(each, RECORD.c.record_id == one.c.id, *conditions, columns=columns)
    return each.join(one, sa.true()).join(row, within(builds, row)), row


def _of(each: sa.FromClause, *conditions: sa.ColumnElement[bool], columns: Iterable[Any]) -> sa.FromClause:
    own = (RECORD.c.namespace_id == each.c.namespace, RECORD.c.projection_version == each.c.build)
    return sa.select(*columns).where(*own, *conditions).offset(_ALL).lateral("r")


def at_places(
    builds: RecordBuilds, places: sa.FromClause, source: sa.FromClause | None = None
) -> tuple[sa.FromClause, tuple[sa.ColumnElement[Any], ...]]:
    """Return *source* joined with the whole records at *places* and their accesses, and the columns of a record."""
    row = _at(places, _RETURNED, "f")
    access = accesses(row)
    joined = (places if source is None else source).outerjoin(row, within(builds, row))
    return joined.outerjoin(access, within(builds, access)), (
        row.c.namespace_id,
        row.c.stream_id,
        row.c.user_id,
        row.c.record,
        last_accessed(row, access).label("last_accessed"),
        sa.func.coalesce(access.c.access_count, 0).label("access_count"),
    )


def accesses(row: sa.FromClause) -> sa.FromClause:
    """Return the accesses of a record, to be joined with it."""
    columns = (_ACCESS.c.namespace_id, _ACCESS.c.last_accessed, _ACCESS.c.access_count)
    return sa.select(*columns).where(*(_ACCESS.c[name] == row.c[name] for name in KEY)).offset(_ALL).lateral("t")


def last_accessed(row: sa.FromClause, access: sa.FromClause) -> sa.ColumnElement[Any]:
    """Return when a record was last read; one that nobody has read, when it was stored."""
    return sa.func.coalesce(access.c.last_accessed, row.c.persisted_at)


def scored(
    builds: RecordBuilds, query: RecordQuery
) -> tuple[sa.FromClause, sa.FromClause, sa.ColumnElement[Any], sa.ColumnElement[bool]]:
    """Return the tables of a query with text, its records, their score, and which of them are hits."""
    if query.vector is None or query.mode == "keyword":
        found = _words(builds, query)
    elif query.mode == "semantic":
        found = _meanings(builds, query)
    else:
        words, meanings = _words(builds, query), _meanings(builds, query)
        same = sa.and_(*(words.c[name] == meanings.c[name] for name in PLACE))
        both = (sa.func.coalesce(words.c[name], meanings.c[name]).label(name) for name in PLACE)
        parts = (words.c.share, meanings.c.meaning, meanings.c.text_digest)
        # a full join is never a nested loop
        found = sa.select(*both, *parts).select_from(words.join(meanings, same, full=True)).subquery("h")
    row = _at(found, _LOOKED_AT, "r")
    source = found.join(row, within(builds, row))
    if query.vector is None or query.mode == "keyword":
        return source, row, found.c.share, row.c.live
    meaning = sa.case((found.c.text_digest == row.c.text_digest, found.c.meaning))
    if query.mode == "semantic":
        return source, row, meaning, sa.and_(row.c.live, meaning.is_not(None))
    mixed = query.alpha * sa.func.coalesce(meaning, 0.0) + (1 - query.alpha) * sa.func.coalesce(found.c.share, 0.0)
    return source, row, mixed, sa.and_(row.c.live, sa.or_(found.c.share.is_not(None), meaning.is_not(None)))


def is_embedded(builds: RecordBuilds, row: sa.FromClause, model: str) -> sa.ColumnElement[bool]:
    """Return whether a record's text has an embedding by *model*."""
    same = (_MEANING.c[name] == row.c[name] for name in KEY)
    return sa.exists().where(
        *same, within(builds, _MEANING), _MEANING.c.model == model, _MEANING.c.text_digest == row.c.text_digest
    )


def _each(builds: RecordBuilds) -> sa.TableValuedAlias:
    lists = sa.cast(list(builds), ARRAY(sa.Uuid)), sa.cast(list(builds.values()), ARRAY(sa.Integer))
    columns = sa.column("namespace", sa.Uuid), sa.column("build", sa.Integer)
    return sa.func.unnest(*lists).table_valued(*columns, name="g").render_derived()


def _at(places: sa.FromClause, columns: Iterable[Any], name: str) -> sa.FromClause:
    """Return the records at *places*, whether live or not: so only indexes that find one are of use."""
    return sa.select(*columns).where(*(RECORD.c[name] == places.c[name] for name in PLACE)).offset(_ALL).lateral(name)


def _words(builds: RecordBuilds, query: RecordQuery) -> sa.FromClause:
    """Return the records that have words of a query, and the share of its weight that they have."""
    asked = asked_words(query.text or "", language=query.language)
    words = sa.func.ledger.search_records(
        sa.cast(list(builds), ARRAY(sa.Uuid)),
        sa.cast(list(builds.values()), ARRAY(sa.Integer)),
        sa.cast(list(asked.stems), ARRAY(sa.Text)),
        MOST_WORDS,
    ).table_valued(*(sa.column(name) for name in PLACE), sa.column("score", sa.Double), name="words")
    return sa.select(*(words.c[name] for name in PLACE), words.c.score.label("share")).subquery("w")


def _meanings(builds: RecordBuilds, query: RecordQuery) -> sa.FromClause:
    """Return the records that have an embedding of the query's model and size, and how similar it is."""
    each, columns = _each(builds), (*(_MEANING.c[name] for name in KEY), _MEANING.c.text_digest, _MEANING.c.embedding)
    own = (_MEANING.c.namespace_id == each.c.namespace, _MEANING.c.model == query.model)
    row = sa.select(*columns).where(*own).offset(_ALL).lateral("m")
    parts = (each.c.build.label("projection_version"), row.c.text_digest)
    meaning = similarity(row.c.embedding, query.vector or ()).label("meaning")
    keys = (row.c[name] for name in KEY)
    return sa.select(*keys, *parts, meaning).select_from(each.join(row, within(builds, row))).subquery("n")
