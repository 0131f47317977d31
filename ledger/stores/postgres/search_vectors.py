"""Texts as vectors that PostgreSQL searches: embeddings, where it has pgvector, and words.

The words are made here, so no server's dictionaries take part.
"""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa
from psycopg.types.json import Jsonb

from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated
from projections.words.words import AskedWords, TextWords

_MOST: Final = 255  # positions of a word in a vector


class EmbeddingTable:
    """The table *name* of embeddings, missing on a server without pgvector; looked up once."""

    def __init__(self, pool: Pool, name: str) -> None:
        self._pool = pool
        self._name = name
        self._exists: bool | None = None

    async def exists(self) -> bool:
        """Return whether the table exists."""
        if self._exists is None:
            with translated():
                async with self._pool.readers.use() as driver:
                    found = await driver.execute("SELECT to_regclass(%s) IS NOT NULL", (f"ledger.{self._name}",))
                    row = await found.fetchone()
            self._exists = row is not None and bool(row[0])
        return self._exists


def vector_text(vector: Sequence[float]) -> str:
    """Return *vector* as text for pgvector."""
    return f"[{','.join(map(repr, vector))}]"


def similarity(embedding: sa.ColumnElement[Any], vector: Sequence[float]) -> sa.ColumnElement[Any]:
    """Return the cosine similarity, 0 to 1; null if the dimensions differ, 0 if a vector has length 0."""
    ours = sa.cast(sa.literal(vector_text(vector)), tables.PublicVector())
    apart: sa.ColumnElement[Any] = embedding.op("OPERATOR(public.<=>)", return_type=sa.Double())(ours)
    near = sa.func.coalesce(1 - sa.func.nullif(apart, sa.cast("NaN", sa.Double)), 0.0)
    bounded = sa.func.least(1.0, sa.func.greatest(0.0, near))
    return sa.case((sa.func.public.vector_dims(embedding) == len(vector), bounded))


def vector_of_words(text: TextWords) -> str:
    """Return *text* as a ``tsvector``: each word with as many positions as it occurs; one of a name has the label A."""
    return " ".join(
        f"'{word}':{','.join(map(str, range(1, min(count, _MOST) + 1)))}{'A' if word in text.names else ''}"
        for word, count in text.counts.items()
    )


def dates_of(asked: AskedWords) -> Jsonb:
    """Return the days that a question names, as ``ledger.search`` reads them."""
    return Jsonb([{"field": part.field, "number": part.number} for part in asked.dates])
