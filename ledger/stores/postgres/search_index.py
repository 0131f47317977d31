"""The search index: pieces of text with their words, and their embeddings where the server has pgvector."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.ids import Stream
from ledger.ports.search_index import SEARCH, PieceHit, SearchQuery, StreamChange
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.search_changes import NetChanges, net_changes
from ledger.stores.postgres.stored_projections import locked_position, moved_on, unused_rows
from ledger.stores.postgres.vectors import EmbeddingTable, vector_text
from projections.ranking import searchable
from projections.search import Piece

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
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            reached = await locked_position(connection, namespace_id, SEARCH, build)
            if reached != after:
                return reached
            net = net_changes(changes)
            await _change_earlier(connection, namespace_id, build, net, embeds=embeds)
            if net.added:
                target = {"namespace": namespace_id, "build": build, "language": language}
                await connection.execute(_PUT, {**target, **columns_of_pieces(net.added)})
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
            "namespace": stream.namespace_id,
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
        bounds = {**wanted, "namespace": namespace_id, "build": build}
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
    text = searchable(query.text.replace("\x00", " ").encode(errors="replace").decode())
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


def columns_of_pieces(added: Sequence[tuple[UUID, Piece, bool]]) -> dict[str, list[Any]]:
    """Return the pieces to add, a list for each column."""
    return {
        "streams": [stream_id for stream_id, _, _ in added],
        "versions": [piece.version for _, piece, _ in added],
        "kinds": [piece.kind for _, piece, _ in added],
        "numbers": [piece.number for _, piece, _ in added],
        "positions": [piece.position for _, piece, _ in added],
        "firsts": [piece.first_character for _, piece, _ in added],
        "items": [piece.item_id for _, piece, _ in added],
        "collections": [piece.collection for _, piece, _ in added],
        "sizes": [len(piece.text) for _, piece, _ in added],
        "texts": [searchable(piece.text) for _, piece, _ in added],
        "erased": [is_erased for _, _, is_erased in added],
    }


def _given(rows: Sequence[tuple[Any, ...]], *columns: sa.ColumnClause[Any]) -> sa.TableValuedAlias:
    """Return *rows* as a table of parameters, whose first column is the stream."""
    named = (sa.column("stream_id", sa.Uuid), *columns)
    lists = (sa.cast([row[at] for row in rows], ARRAY(column.type)) for at, column in enumerate(named))
    return sa.func.unnest(*lists).table_valued(*named, name="given").render_derived()


def _removals(net: NetChanges) -> Iterator[tuple[sa.TableValuedAlias, sa.ColumnElement[bool]]]:
    """Yield, for each kind of change that removes pieces, the streams and which of their pieces."""
    entries = tables.search_entries.c
    if net.withdrawn:
        given = _given(net.withdrawn, sa.column("version", sa.BigInteger))
        yield given, sa.and_(entries.kind == "entry", entries.version == given.c.version)
    if net.folded:
        given = _given(net.folded, sa.column("item_id", sa.Text))
        yield given, sa.and_(entries.kind != "entry", entries.item_id == given.c.item_id)
    if net.forgotten:
        given = _given(net.forgotten, sa.column("ended", sa.Boolean))
        yield given, sa.or_(given.c.ended, entries.kind != "knowledge")


async def _change_earlier(
    connection: AsyncConnection, namespace_id: UUID, build: int, net: NetChanges, *, embeds: bool
) -> None:
    """Apply *net* to the pieces that are there; the embeddings of deleted pieces are deleted too."""
    entries, embeddings = tables.search_entries, tables.search_embeddings
    here = (entries.c.namespace_id == namespace_id, entries.c.projection_version == build)
    for given, matches in _removals(net):
        await connection.execute(_uncounted(namespace_id, build, given, matches))
        removal = entries.delete().where(*here, entries.c.stream_id == given.c.stream_id, matches)
        if embeds:
            key = ("stream_id", "version", "kind", "piece")
            removed = removal.returning(*(entries.c[name] for name in key)).cte("removed")
            same = (embeddings.c[name] == removed.c[name] for name in key)
            removal = embeddings.delete().where(embeddings.c.namespace_id == namespace_id, *same)
        await connection.execute(removal)
    if any((net.withdrawn, net.folded, net.forgotten)):
        terms = tables.search_terms
        empty = terms.delete().where(
            terms.c.namespace_id == namespace_id, terms.c.projection_version == build, terms.c.pieces <= 0
        )
        await connection.execute(empty)
    if net.erased:
        given = _given(net.erased, sa.column("first", sa.BigInteger), sa.column("last", sa.BigInteger))
        within = entries.c.version.between(given.c.first, given.c.last)
        same_stream = entries.c.stream_id == given.c.stream_id
        erasure = entries.update().where(*here, same_stream, entries.c.kind == "entry", within).values(erased=True)
        await connection.execute(erasure)


def _uncounted(
    namespace_id: UUID, build: int, given: sa.TableValuedAlias, matches: sa.ColumnElement[bool]
) -> sa.Update:
    """Return the statement that counts the words of the pieces that *matches* no more; then they can be deleted."""
    entries, terms = tables.search_entries.c, tables.search_terms
    named = sa.exists().select_from(given).where(entries.stream_id == given.c.stream_id, matches)
    removed = (
        sa.select(entries.vector, entries.words)
        .where(entries.namespace_id == namespace_id, entries.projection_version == build, named)
        .cte("removed")
    )
    word = sa.func.unnest(removed.c.vector).table_valued("lexeme", "positions", "weights", joins_implicitly=True)
    words = sa.select(word.c.lexeme, sa.func.count().label("pieces"), sa.literal(0).label("words"))
    all_pieces = sa.select(sa.literal(""), sa.func.count(), sa.func.coalesce(sa.func.sum(removed.c.words), 0))
    lost = sa.union_all(words.select_from(removed, word).group_by(word.c.lexeme), all_pieces).subquery("lost")
    return (
        terms.update()
        .where(terms.c.namespace_id == namespace_id, terms.c.projection_version == build)
        .where(terms.c.lexeme == lost.c.lexeme)
        .values(pieces=terms.c.pieces - lost.c.pieces, words=terms.c.words - lost.c.words)
    )
