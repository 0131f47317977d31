"""The in-memory search index; it gives the same answers as PostgreSQL."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never
from uuid import UUID

import msgspec
from msgspec.structs import replace

from ledger.ids import Stream
from ledger.ports import Clock
from ledger.ports.search_index import SEARCH, PieceHit, PieceKey, SearchQuery, StreamChange
from ledger.stores.in_memory.namespaces import StoredNamespace
from projections import ranges
from projections.ranking import words
from projections.search import AddPieces, Erase, Fold, Forget, Piece, SearchChange, Withdraw
from projections.word_index import WordIndex


class IndexedPiece(msgspec.Struct, frozen=True):
    """A piece, and whether it was erased from the window."""

    stream: Stream
    piece: Piece
    erased: bool = False

    def as_hit(self, score: float) -> PieceHit:
        """Return it as a hit with *score*."""
        piece = self.piece
        return PieceHit(
            stream_id=self.stream.stream_id,
            user_id=self.stream.user_id,
            session_id=self.stream.session_id,
            version=piece.version,
            kind=piece.kind,
            piece=piece.number,
            position=piece.position,
            first_character=piece.first_character,
            characters=len(piece.text),
            score=score,
        )

    @property
    def key(self) -> PieceKey:
        return self.stream.stream_id, self.piece.version, self.piece.kind, self.piece.number


class PieceIndex:
    """The searchable pieces of one namespace."""

    def __init__(self) -> None:
        self._pieces: dict[PieceKey, IndexedPiece] = {}
        self._numbers: dict[PieceKey, int] = {}
        self._keys: dict[int, PieceKey] = {}
        self._ranking = WordIndex()

    def apply(self, change: SearchChange, stream: Stream) -> list[PieceKey]:
        """Apply one change to *stream* and return the pieces that it removed."""
        present = self.of(stream)
        match change:
            case AddPieces(pieces=pieces):
                for piece in pieces:
                    self._put(IndexedPiece(stream, piece))
                return []
            case Erase(covered=covered):
                for indexed_piece in present:
                    if indexed_piece.piece.kind == "entry" and ranges.contains(covered, indexed_piece.piece.version):
                        self._pieces[indexed_piece.key] = replace(indexed_piece, erased=True)
                return []
            case Withdraw(version=version):
                return self._remove(
                    indexed_piece
                    for indexed_piece in present
                    if indexed_piece.piece.kind == "entry" and indexed_piece.piece.version == version
                )
            case Fold(summary_ids=folded):
                return self._remove(
                    indexed_piece
                    for indexed_piece in present
                    if indexed_piece.piece.kind != "entry" and indexed_piece.piece.item_id in folded
                )
            case Forget(ended=ended):
                return self._remove(
                    indexed_piece for indexed_piece in present if ended or indexed_piece.piece.kind != "knowledge"
                )
            case _:
                assert_never(change)

    def of(self, stream: Stream | None) -> list[IndexedPiece]:
        """Return the pieces of *stream*, or all."""
        return [
            indexed_piece
            for indexed_piece in self._pieces.values()
            if stream is None or indexed_piece.stream.stream_id == stream.stream_id
        ]

    def in_scope(self, query: SearchQuery) -> list[IndexedPiece]:
        """Return the pieces in the scope of *query*."""
        return [
            indexed_piece
            for indexed_piece in self.of(query.stream)
            if indexed_piece.piece.kind in query.kinds
            and (query.user_id is None or indexed_piece.stream.user_id == query.user_id)
            and (query.collection is None or indexed_piece.piece.collection == query.collection)
            and (query.include_erased or not indexed_piece.erased)
        ]

    def search(self, query: SearchQuery) -> list[PieceHit]:
        """Return the pieces that contain a word of the query, best first."""
        scores = {self._keys[number]: score for number, score in self._ranking.search(query.text, len(self._pieces))}
        hits = [
            indexed_piece.as_hit(scores[indexed_piece.key])
            for indexed_piece in self.in_scope(query)
            if indexed_piece.key in scores
        ]
        return sorted(hits, key=_best_first)[: query.limit]

    def _put(self, indexed_piece: IndexedPiece) -> None:
        number = self._numbers.setdefault(indexed_piece.key, len(self._numbers))
        self._keys[number] = indexed_piece.key
        self._pieces[indexed_piece.key] = indexed_piece
        self._ranking.add(number, indexed_piece.piece.text)

    def _remove(self, removed: Iterable[IndexedPiece]) -> list[PieceKey]:
        keys = [indexed_piece.key for indexed_piece in removed]
        for key in keys:
            del self._pieces[key]
            self._ranking.remove(self._numbers[key])
        return keys


def _best_first(hit: PieceHit) -> tuple[float, int, int]:
    return -hit.score, hit.position if hit.kind == "knowledge" else -hit.position, hit.piece


class InMemorySearchIndex:
    """See `ports.search_index.SearchIndexStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._indexes: dict[tuple[UUID, int], PieceIndex] = {}
        self._vectors: dict[tuple[UUID, str, PieceKey], Sequence[float]] = {}

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
        namespace = self._namespaces.get(namespace_id)
        built = namespace.checkpoints.get((SEARCH, build)) if namespace else None
        if namespace is None or built is None or built.position != after:
            return built.position if built else None
        index = self._indexes.setdefault((namespace_id, build), PieceIndex())
        for stream_change in changes:
            for removed in index.apply(stream_change.change, namespace.names[stream_change.stream_id]):
                for key in [key for key in self._vectors if (key[0], key[2]) == (namespace_id, removed)]:
                    del self._vectors[key]
        namespace.checkpoints[SEARCH, build] = replace(
            built, position=position, updated_at=self._clock.now(), last_error=None
        )
        return position

    async def prune(self, namespace_id: UUID) -> int:
        builds = self._namespaces[namespace_id].checkpoints if namespace_id in self._namespaces else {}
        unused = [key for key in self._indexes if key[0] == namespace_id and (SEARCH, key[1]) not in builds]
        return sum(len(self._indexes.pop(key).of(None)) for key in unused)

    async def find(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[PieceHit]:
        return self._index(namespace_id, build).search(query)

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        pieces = self._index(stream.namespace_id, build).of(stream)
        found = {
            indexed_piece.piece.version
            for indexed_piece in pieces
            if indexed_piece.piece.kind == "entry" and (include_erased or not indexed_piece.erased)
        }
        return found.intersection(versions)

    async def stores_embeddings(self) -> bool:
        return True

    async def to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[PieceHit]:
        index = self._index(namespace_id, build)
        left = [
            indexed_piece.as_hit(0.0)
            for indexed_piece in index.of(None)
            if words(indexed_piece.piece.text) and (namespace_id, model, indexed_piece.key) not in self._vectors
        ]
        return sorted(left, key=lambda hit: (hit.position, hit.piece))[:limit]

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[PieceHit, Sequence[float]]]
    ) -> None:
        self._vectors.update({(namespace_id, model, hit.key): vector for hit, vector in embeddings})

    async def find_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[PieceHit]:
        index = self._index(namespace_id, build)
        near = [
            indexed_piece.as_hit(_cosine(vector, stored))
            for indexed_piece in index.in_scope(query)
            if (stored := self._vectors.get((namespace_id, model, indexed_piece.key))) is not None
            and len(stored) == len(vector)
        ]
        return sorted(near, key=lambda hit: (-hit.score, -hit.position, hit.piece))[: query.limit]

    def _index(self, namespace_id: UUID, build: int) -> "PieceIndex":
        return self._indexes.get((namespace_id, build)) or PieceIndex()


def _cosine(first: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*first) * math.hypot(*other)
    return sum(a * b for a, b in zip(first, other, strict=True)) / lengths if lengths else 0.0
