"""Similarity, recency and rank of records as SQL; `projections.records.recency` defines them."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ledger.ports.record_store import RecordQuery
from ledger.stores.postgres import tables
from ledger.stores.postgres.vectors import vector_text
from projections.records.recency import DAY_S, MOST_HALVINGS, Recency


def similarity(embedding: sa.ColumnElement[Any], vector: Sequence[float]) -> sa.ColumnElement[Any]:
    """Return the cosine similarity, 0 to 1; null if the dimensions differ, 0 if a vector has length 0."""
    ours = sa.cast(sa.literal(vector_text(vector)), tables.PublicVector())
    apart: sa.ColumnElement[Any] = embedding.op("OPERATOR(public.<=>)", return_type=sa.Double())(ours)
    near = sa.func.coalesce(1 - sa.func.nullif(apart, sa.cast("NaN", sa.Double)), 0.0)
    bounded = sa.func.least(1.0, sa.func.greatest(0.0, near))
    return sa.case((sa.func.public.vector_dims(embedding) == len(vector), bounded))


def rank(
    score: sa.ColumnElement[Any],
    weights: Recency,
    query: RecordQuery,
    *,
    created_at: sa.ColumnElement[Any],
    last_accessed: sa.ColumnElement[Any],
) -> sa.ColumnElement[Any]:
    """Return *score* mixed with the recency of a record."""
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
