"""Embeddings of pieces, where the server has pgvector."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from ledger.ports.search import Hit, SearchQuery
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.searching import QUERIES, Searching, asked

_PUT: Final = sa.text(QUERIES["put_embeddings"])


class Embedding:
    """The `ports.search.EmbeddingStore` of the store."""

    def __init__(self, pool: Pool, searching: Searching) -> None:
        self._pool = pool
        self._searching = searching

    async def pieces_to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[Hit]:
        """See `ports.search.EmbeddingStore.pieces_to_embed`."""
        wanted = {"model": model, "limit": limit}
        return await self._searching.hits("pieces_to_embed", namespace_id, build, wanted)

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[Hit, Sequence[float]]]
    ) -> None:
        """See `ports.search.EmbeddingStore.save_embeddings`."""
        rows = {
            "namespace": namespace_id,
            "model": model,
            "streams": [hit.stream_id for hit, _ in embeddings],
            "versions": [hit.version for hit, _ in embeddings],
            "kinds": [hit.kind for hit, _ in embeddings],
            "numbers": [hit.piece for hit, _ in embeddings],
            "embeddings": [written(vector) for _, vector in embeddings],
        }
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(_PUT, rows)

    async def search_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[Hit]:
        """See `ports.search.EmbeddingStore.search_similar`."""
        wanted = {**asked(query), "model": model, "vector": written(vector), "dimensions": len(vector)}
        return await self._searching.hits("search_similar", namespace_id, build, wanted)


def written(vector: Sequence[float]) -> str:
    """Return *vector* as pgvector reads it."""
    return f"[{','.join(map(repr, vector))}]"
