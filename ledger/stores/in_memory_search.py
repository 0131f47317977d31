"""Search of the reference store: the same answers as the database's, word by word."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, assert_never
from uuid import UUID

import msgspec
from msgspec.structs import replace

from ledger.ids import Stream
from ledger.ports import Clock
from ledger.ports.indexes import Checkpoint
from ledger.ports.search import SEARCH, Hit, SearchQuery, StreamChange
from projections import ranges
from projections.ranking import words
from projections.search import Change, Erase, Fold, Forget, Piece, Put, Withdraw
from projections.word_index import WordIndex

Place: TypeAlias = tuple[UUID, int, str, int]


class Findable(msgspec.Struct, frozen=True):
    """A piece, and whether it was erased from the window."""

    stream: Stream
    piece: Piece
    erased: bool = False

    def as_hit(self, score: float) -> Hit:
        """Return it as found, with its score."""
        piece = self.piece
        return Hit(
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
    def place(self) -> Place:
        """See `Hit.place`."""
        return self.stream.stream_id, self.piece.version, self.piece.kind, self.piece.number


class PieceIndex:
    """What can be found in one namespace."""

    def __init__(self) -> None:
        self._pieces: dict[Place, Findable] = {}
        self._numbers: dict[Place, int] = {}
        self._places: dict[int, Place] = {}
        self._ranking = WordIndex()

    def apply(self, change: Change, stream: Stream) -> list[Place]:
        """Carry out one change of *stream*; return what went."""
        there = self.of(stream)
        match change:
            case Put(pieces=pieces):
                for piece in pieces:
                    self._put(Findable(stream, piece))
                return []
            case Erase(covered=covered):
                for one in there:
                    if one.piece.kind == "entry" and ranges.contains(covered, one.piece.version):
                        self._pieces[one.place] = replace(one, erased=True)
                return []
            case Withdraw(version=version):
                return self._remove(one for one in there if one.piece.kind == "entry" and one.piece.version == version)
            case Fold(summary_ids=folded):
                return self._remove(one for one in there if one.piece.kind != "entry" and one.piece.item_id in folded)
            case Forget(ended=ended):
                return self._remove(one for one in there if ended or one.piece.kind != "knowledge")
            case _:
                assert_never(change)

    def of(self, stream: Stream | None) -> list[Findable]:
        """Return the pieces of *stream*, or all."""
        return [one for one in self._pieces.values() if stream is None or one.stream.stream_id == stream.stream_id]

    def asked(self, query: SearchQuery) -> list[Findable]:
        """Return the pieces in the scope of *query*."""
        return [
            one
            for one in self.of(query.stream)
            if one.piece.kind in query.kinds
            and (query.user_id is None or one.stream.user_id == query.user_id)
            and (query.collection is None or one.piece.collection == query.collection)
            and (query.include_erased or not one.erased)
        ]

    def search(self, query: SearchQuery) -> list[Hit]:
        """See `ports.search.SearchStore.search`."""
        scores = {self._places[number]: score for number, score in self._ranking.search(query.text, len(self._pieces))}
        hits = [one.as_hit(scores[one.place]) for one in self.asked(query) if one.place in scores]
        return sorted(hits, key=_best_first)[: query.limit]

    def _put(self, one: Findable) -> None:
        number = self._numbers.setdefault(one.place, len(self._numbers))
        self._places[number] = one.place
        self._pieces[one.place] = one
        self._ranking.add(number, one.piece.text)

    def _remove(self, gone: Iterable[Findable]) -> list[Place]:
        places = [one.place for one in gone]
        for place in places:
            del self._pieces[place]
            self._ranking.remove(self._numbers[place])
        return places


def _best_first(hit: Hit) -> tuple[float, int, int]:
    return -hit.score, hit.position if hit.kind == "knowledge" else -hit.position, hit.piece


class Space(Protocol):
    """What search needs of a namespace: its sessions, and the builds of stored projections."""

    names: dict[UUID, Stream]
    checkpoints: dict[tuple[str, int], Checkpoint]


class InMemorySearch:
    """The `ports.search.SearchStore` and `ports.search.EmbeddingStore` of the store."""

    def __init__(self, spaces: Mapping[UUID, Space], clock: Clock) -> None:
        self._spaces = spaces
        self._clock = clock
        self._indexes: dict[tuple[UUID, int], PieceIndex] = {}
        self._vectors: dict[tuple[UUID, str, Place], Sequence[float]] = {}

    async def index_pieces(
        self,
        namespace_id: UUID,
        build: int,
        changes: Sequence[StreamChange],
        *,
        after: int,
        position: int,
        language: str,
    ) -> int | None:
        """See `ports.search.SearchStore.index_pieces`."""
        space = self._spaces.get(namespace_id)
        built = space.checkpoints.get((SEARCH, build)) if space else None
        if space is None or built is None or built.position != after:
            return built.position if built else None
        index = self._indexes.setdefault((namespace_id, build), PieceIndex())
        for one in changes:
            for place in index.apply(one.change, space.names[one.stream_id]):
                for key in [key for key in self._vectors if (key[0], key[2]) == (namespace_id, place)]:
                    del self._vectors[key]
        space.checkpoints[SEARCH, build] = replace(built, position=position, updated_at=self._clock.now())
        return position

    async def prune_pieces(self, namespace_id: UUID) -> int:
        """See `ports.search.SearchStore.prune_pieces`."""
        builds = self._spaces[namespace_id].checkpoints if namespace_id in self._spaces else {}
        gone = [key for key in self._indexes if key[0] == namespace_id and (SEARCH, key[1]) not in builds]
        return sum(len(self._indexes.pop(key).of(None)) for key in gone)

    async def search(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[Hit]:
        """See `ports.search.SearchStore.search`."""
        return self._index(namespace_id, build).search(query)

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        """See `ports.search.SearchStore.findable`."""
        there = self._index(stream.namespace_id, build).of(stream)
        found = {one.piece.version for one in there if one.piece.kind == "entry" and (include_erased or not one.erased)}
        return found.intersection(versions)

    async def embeds(self) -> bool:
        """See `ports.search.EmbeddingStore.embeds`."""
        return True

    async def pieces_to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[Hit]:
        """See `ports.search.EmbeddingStore.pieces_to_embed`."""
        index = self._index(namespace_id, build)
        left = [
            one.as_hit(0.0)
            for one in index.of(None)
            if words(one.piece.text) and (namespace_id, model, one.place) not in self._vectors
        ]
        return sorted(left, key=lambda hit: (hit.position, hit.piece))[:limit]

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[Hit, Sequence[float]]]
    ) -> None:
        """See `ports.search.EmbeddingStore.save_embeddings`."""
        self._vectors.update({(namespace_id, model, hit.place): vector for hit, vector in embeddings})

    async def search_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[Hit]:
        """See `ports.search.EmbeddingStore.search_similar`."""
        index = self._index(namespace_id, build)
        near = [
            one.as_hit(_cosine(vector, kept))
            for one in index.asked(query)
            if (kept := self._vectors.get((namespace_id, model, one.place))) is not None and len(kept) == len(vector)
        ]
        return sorted(near, key=lambda hit: (-hit.score, -hit.position, hit.piece))[: query.limit]

    def _index(self, namespace_id: UUID, build: int) -> "PieceIndex":
        return self._indexes.get((namespace_id, build)) or PieceIndex()


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
