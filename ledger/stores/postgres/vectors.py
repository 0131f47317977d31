"""Embeddings, where the server has pgvector."""

from collections.abc import Sequence

from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated


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
