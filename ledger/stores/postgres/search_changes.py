"""Write a page of changes to the search index.

The order of the changes does not matter: each piece has the version at which it was added, and the first later change
that removes it counts.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, assert_never
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from ledger.ports.search_index import StreamChange
from ledger.stores.postgres.search_vectors import vector_of_words
from projections.words.languages import SearchLanguage
from projections.words.searchable_text import AddPieces, Erase, Fold, Forget, Inherit, Piece, Withdraw, words_of_piece

#: An own version, what happens there, and to which versions or to which summary.
_Row = tuple[UUID, int, str, int | None, int | None, str | None]


def _statement(name: str) -> sa.TextClause:
    return sa.text((Path(__file__).parent / "search_queries" / f"{name}.sql").read_text())


_PUT_PIECES: Final = _statement("put_pieces")
_PUT_FORKS: Final = _statement("put_forks")
_ERASE: Final = _statement("erase_pieces")
_END: Final = _statement("end_pieces")
_SHOW: Final = _statement("show_pieces")
_DELETE_EMBEDDINGS: Final = _statement("delete_embeddings")


async def write_changes(
    connection: AsyncConnection,
    namespace_id: UUID,
    build: int,
    changes: Sequence[StreamChange],
    *,
    language: SearchLanguage,
    embeds: bool,
) -> None:
    """Write *changes*; the embeddings of pieces that no session has any more are deleted."""
    target = {"namespace": namespace_id, "build": build}
    added = [
        (each.stream_id, each.version, piece)
        for each in changes
        if isinstance(each.change, AddPieces)
        for piece in each.change.pieces
    ]
    if added:
        await connection.execute(_PUT_PIECES, {**target, **columns_of_pieces(added, language=language)})
    given = {**target, **columns_of_changes(changes)}
    if not given["streams"]:
        return
    await connection.execute(_PUT_FORKS, given)
    await connection.execute(_ERASE, given)
    ended = (await connection.execute(_END, given)).fetchall()
    if ended and embeds:
        keys = _columns(ended, "streams", "versions", "kinds", "numbers", "added")
        await connection.execute(_DELETE_EMBEDDINGS, {**target, **keys})
    forks = [each.stream_id for each in changes if isinstance(each.change, Inherit)]
    if forks:
        await connection.execute(_SHOW, {**target, "forks": forks})


def columns_of_pieces(added: Sequence[tuple[UUID, int, Piece]], *, language: SearchLanguage) -> dict[str, list[Any]]:
    """Return the pieces to add, each with its stream and the version of its event, as a list for each column."""
    words = [words_of_piece(piece, language) for _, _, piece in added]
    return {
        "streams": [stream_id for stream_id, _, _ in added],
        "versions": [piece.version for _, _, piece in added],
        "kinds": [piece.kind for _, _, piece in added],
        "numbers": [piece.number for _, _, piece in added],
        "added": [version for _, version, _ in added],
        "positions": [piece.position for _, _, piece in added],
        "firsts": [piece.first_character for _, _, piece in added],
        "items": [piece.item_id for _, _, piece in added],
        "collections": [piece.collection for _, _, piece in added],
        "sizes": [len(piece.text) for _, _, piece in added],
        "words": [text.length for text in words],
        "days": [text.day for text in words],
        "languages": [text.language for text in words],
        "stems": [vector_of_words(text) for text in words],
    }


def columns_of_changes(changes: Sequence[StreamChange]) -> dict[str, list[Any]]:
    """Return what happens to pieces that are there, and the openings of forks, as a list for each column."""
    rows = [row for each in changes for row in _rows(each)]
    return _columns(rows, "streams", "versions", "changes", "firsts", "lasts", "items")


def _rows(given: StreamChange) -> Iterator[_Row]:
    at = given.stream_id, given.version
    match given.change:
        case AddPieces():
            return
        case Withdraw(version=version):
            yield *at, "withdraw", version, version, None
        case Erase(covered=covered):
            for first, last in covered:
                yield *at, "erase", first, last, None
        case Fold(summary_ids=folded):
            for summary_id in folded:
                yield *at, "fold", None, None, summary_id
        case Forget(ended=ended):
            yield *at, "end" if ended else "forget", 1, given.version, None
        case Inherit(position=position):
            yield *at, "fork", position, None, None
        case _:
            assert_never(given.change)


def _columns(rows: Sequence[Sequence[Any]], *names: str) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
