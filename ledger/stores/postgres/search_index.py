"""The search index: pieces of text with their words, and their embeddings where the server has pgvector."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.ids import Stream
from ledger.ports.search_index import SEARCH, PieceHit, SearchQuery, StreamChange
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.stored_projections import locked_position, moved_on, unused_rows
from ledger.stores.postgres.vectors import EmbeddingTable, vector_text
from projections.search import AddPieces, Erase, Fold, Forget, Withdraw

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "search_queries").glob("*.sql")}
_PUT: Final = sa.text(_QUERIES["put_pieces"])
_PUT_EMBEDDINGS: Final = sa.text(_QUERIES["put_embeddings"])


class PostgresSearchIndex:
    """See `ports.search_index.SearchIndexStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._embeddings = EmbeddingTable(pool, "search_embeddings")

    async def apply(
        self,
        namespace_id: UUID,
        build: int,
        changes: Sequence[StreamChange],
        *,
        after: int,
        position: int,
        language: str,
    ) -> int | None:
        embeds = await self.stores_embeddings()
        async with self._pool.transaction(namespace_id) as connection:
            reached = await locked_position(connection, namespace_id, SEARCH, build)
            if reached != after:
                return reached
            target = {"namespace": namespace_id, "build": build, "language": language}
            for puts, run in groupby(changes, key=lambda stream_change: isinstance(stream_change.change, AddPieces)):
                if puts:
                    await connection.execute(_PUT, {**target, **_columns(run)})
                else:
                    for stream_change in run:
                        await _apply(connection, namespace_id, build, stream_change, embeds=embeds)
            await connection.execute(moved_on(namespace_id, SEARCH, build, position))
            return position

    async def prune(self, namespace_id: UUID) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            await connection.execute(unused_rows(namespace_id, SEARCH, tables.search_terms))
            return (await connection.execute(unused_rows(namespace_id, SEARCH, tables.search_entries))).rowcount

    async def stores_embeddings(self) -> bool:
        return await self._embeddings.exists()

    async def find(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[PieceHit]:
        return await self._hits("search", namespace_id, build, _parameters(query))

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        wanted = {
            "namespace": str(stream.namespace_id),
            "build": build,
            "stream": stream.stream_id,
            "versions": list(versions),
            "include_erased": include_erased,
        }
        return {int(row[0]) for row in await self._rows(_QUERIES["findable"], wanted)}

    async def to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[PieceHit]:
        wanted = {"model": model, "limit": limit}
        return await self._hits("pieces_to_embed", namespace_id, build, wanted)

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[PieceHit, Sequence[float]]]
    ) -> None:
        rows = {
            "namespace": namespace_id,
            "model": model,
            "streams": [hit.stream_id for hit, _ in embeddings],
            "versions": [hit.version for hit, _ in embeddings],
            "kinds": [hit.kind for hit, _ in embeddings],
            "numbers": [hit.piece for hit, _ in embeddings],
            "embeddings": [vector_text(vector) for _, vector in embeddings],
        }
        async with self._pool.transaction(namespace_id) as connection:
            await connection.execute(_PUT_EMBEDDINGS, rows)

    async def find_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[PieceHit]:
        wanted = {**_parameters(query), "model": model, "vector": vector_text(vector), "dimensions": len(vector)}
        return await self._hits("search_similar", namespace_id, build, wanted)

    async def _hits(self, query: str, namespace_id: UUID, build: int, wanted: dict[str, Any]) -> list[PieceHit]:
        """Run a query whose columns are those of a hit."""
        bounds = {**wanted, "namespace": str(namespace_id), "build": build}
        return [
            PieceHit(
                stream_id=row[0],
                version=row[1],
                kind=row[2],
                piece=row[3],
                position=row[4],
                first_character=row[5],
                characters=row[6],
                user_id=row[7],
                session_id=row[8],
                score=float(row[9]),
            )
            for row in await self._rows(_QUERIES[query], bounds)
        ]

    async def _rows(self, query: str, wanted: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Run a query in one round trip."""
        with translated():
            async with self._pool.readers.use() as driver:
                return await (await driver.execute(query, wanted, prepare=True)).fetchall()


def _parameters(query: SearchQuery) -> dict[str, Any]:
    """Return *query* as parameters, with blanks for characters that PostgreSQL cannot store."""
    text = query.text.replace("\x00", " ").encode(errors="replace").decode()
    return {
        "text": text,
        "language": query.language,
        "kinds": list(query.kinds),
        "stream": query.stream.stream_id if query.stream else None,
        "user": query.user_id,
        "collection": query.collection,
        "include_erased": query.include_erased,
        "limit": query.limit,
    }


def _columns(run: Iterable[StreamChange]) -> dict[str, list[Any]]:
    """Return the pieces of consecutive `AddPieces`, a list for each column."""
    pieces = [
        (stream_change.stream_id, piece)
        for stream_change in run
        if isinstance(stream_change.change, AddPieces)
        for piece in stream_change.change.pieces
    ]
    return {
        "streams": [stream_id for stream_id, _ in pieces],
        "versions": [piece.version for _, piece in pieces],
        "kinds": [piece.kind for _, piece in pieces],
        "numbers": [piece.number for _, piece in pieces],
        "positions": [piece.position for _, piece in pieces],
        "firsts": [piece.first_character for _, piece in pieces],
        "items": [piece.item_id for _, piece in pieces],
        "collections": [piece.collection for _, piece in pieces],
        "texts": [piece.text for _, piece in pieces],
    }


async def _apply(
    connection: AsyncConnection, namespace_id: UUID, build: int, stream_change: StreamChange, *, embeds: bool
) -> None:
    """Apply a change other than `AddPieces`; the embeddings of deleted pieces are deleted too."""
    entries = tables.search_entries
    here = (entries.c.namespace_id == namespace_id, entries.c.stream_id == stream_change.stream_id)
    live = (*here, entries.c.projection_version == build)
    match stream_change.change:
        case Erase(covered=covered):
            for first, last in covered:
                within = entries.c.version.between(first, last)
                erase = entries.update().where(*live, entries.c.kind == "entry", within).values(erased=True)
                await connection.execute(erase)
            return
        case Withdraw(version=version):
            removed = [entries.c.kind == "entry", entries.c.version == version]
        case Fold(summary_ids=folded):
            removed = [entries.c.kind != "entry", entries.c.item_id.in_(folded)]
        case Forget(ended=ended):
            removed = [] if ended else [entries.c.kind != "knowledge"]
        case AddPieces():
            return
    if embeds:
        embeddings = tables.search_embeddings
        key = ("namespace_id", "stream_id", "version", "kind", "piece")
        same = [embeddings.c[name] == entries.c[name] for name in key]
        await connection.execute(embeddings.delete().where(sa.exists().where(*same, *live, *removed)))
    await connection.execute(entries.delete().where(*live, *removed))
