"""The search index: pieces of text with their words, and their embeddings where the server has pgvector."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from psycopg.sql import Composed
from psycopg.types.json import Jsonb

from ledger.events.ids import Stream
from ledger.ports.search_index import SEARCH, PieceHit, SearchQuery, StreamChange
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.projection_store import locked_position, moved_on, unused_rows
from ledger.stores.postgres.search_changes import write_changes
from ledger.stores.postgres.search_vectors import EmbeddingTable, dates_of, vector_text
from ledger.stores.postgres.vector_indexes import EXACT, NearestVectors, VectorIndex
from projections.words.languages import SearchLanguage
from projections.words.ranking import DEFAULT_RANKING
from projections.words.word_index import ScoreParts
from projections.words.words import asked_words

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "search_queries").glob("*.sql")}
_PUT_EMBEDDINGS: Final = sa.text(_QUERIES["put_embeddings"])


class PostgresSearchIndex:
    """See `ports.search_index.SearchIndexStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._embeddings = EmbeddingTable(pool, "search_embeddings")
        self._nearest = NearestVectors(pool)

    async def apply(
        self,
        namespace_id: UUID,
        build: int,
        changes: Sequence[StreamChange],
        *,
        after: int,
        position: int,
        language: SearchLanguage,
    ) -> int | None:
        embeds = await self.stores_embeddings()
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            reached = await locked_position(connection, namespace_id, SEARCH, build)
            if reached != after:
                return reached
            await write_changes(connection, namespace_id, build, changes, language=language, embeds=embeds)
            await connection.execute(moved_on(namespace_id, SEARCH, build, position))
            return position

    async def prune(self, namespace_id: UUID) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            for table in (tables.search_terms, tables.search_forks, tables.search_fork_changes):
                await connection.execute(unused_rows(namespace_id, SEARCH, table))
            return (await connection.execute(unused_rows(namespace_id, SEARCH, tables.search_entries))).rowcount

    async def stores_embeddings(self) -> bool:
        return await self._embeddings.exists()

    async def find(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[PieceHit]:
        return await self._hits(_QUERIES["search"], namespace_id, build, _parameters(query))

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        wanted = {
            "namespace": stream.namespace_id,
            "build": build,
            "stream": stream.stream_id,
            "versions": list(versions),
            "include_erased": include_erased,
        }
        return {int(row[0]) for row in await self._rows(_QUERIES["findable"], wanted)}

    async def to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[PieceHit]:
        wanted = {"model": model, "limit": limit}
        return await self._hits(_QUERIES["pieces_to_embed"], namespace_id, build, wanted)

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[PieceHit, Sequence[float]]]
    ) -> None:
        rows = {
            "namespace": namespace_id,
            "model": model,
            "streams": [hit.origin_id for hit, _ in embeddings],
            "versions": [hit.version for hit, _ in embeddings],
            "kinds": [hit.kind for hit, _ in embeddings],
            "numbers": [hit.piece for hit, _ in embeddings],
            "added": [hit.added_in for hit, _ in embeddings],
            "embeddings": [vector_text(vector) for _, vector in embeddings],
        }
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(_PUT_EMBEDDINGS, rows)

    async def find_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[PieceHit]:
        wanted = {**_parameters(query), "model": model, "vector": vector_text(vector), "dimensions": len(vector)}
        if query.stream is None and query.user_id is None and query.collection is None:
            vectors = VectorIndex(namespace_id, model, len(vector))
            by_index = await self._nearest.query(vectors, limit=query.limit)
            if by_index is not None:
                hits = await self._hits(by_index[0], namespace_id, build, wanted | by_index[1])
                if len(hits) >= query.limit:
                    return hits
        return await self._hits(EXACT, namespace_id, build, wanted)

    async def _hits(
        self, query: str | Composed, namespace_id: UUID, build: int, wanted: dict[str, Any]
    ) -> list[PieceHit]:
        """Run a query whose columns are those of a hit."""
        bounds = {**wanted, "namespace": namespace_id, "build": build}
        return [
            PieceHit(
                stream_id=row[0],
                user_id=row[1],
                session_id=row[2],
                origin_id=row[3],
                added_in=row[4],
                version=row[5],
                kind=row[6],
                piece=row[7],
                position=row[8],
                first_character=row[9],
                characters=row[10],
                score=float(row[11]),
                by_words=_parts(row[12:]),
            )
            for row in await self._rows(query, bounds)
        ]

    async def _rows(self, query: str | Composed, wanted: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Run a query in one round trip."""
        with translated():
            async with self._pool.readers.use() as driver:
                return await (await driver.execute(query, wanted, prepare=True)).fetchall()


def _parts(values: Sequence[float]) -> ScoreParts | None:
    if not values:
        return None
    words, neighbours, speaker, date = values
    return ScoreParts(words=words, neighbours=neighbours, speaker=speaker, date=date)


def _parameters(query: SearchQuery) -> dict[str, Any]:
    """Return *query* as parameters."""
    asked = asked_words(query.text, language=query.language)
    return {
        "words": list(asked.stems),
        "dates": dates_of(asked),
        "ranking": Jsonb((query.ranking or DEFAULT_RANKING).model_dump()),
        "kinds": list(query.kinds),
        "stream": query.stream.stream_id if query.stream else None,
        "user": query.user_id,
        "collection": query.collection,
        "include_erased": query.include_erased,
        "limit": query.limit,
    }
