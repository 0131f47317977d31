"""The in-memory search index; it gives the same answers as PostgreSQL."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from ledger.events.ids import Stream
from ledger.ports import Clock
from ledger.ports.search_index import SEARCH, PieceHit, PieceKey, SearchQuery, StreamChange
from ledger.stores.in_memory.indexed_pieces import Fork, IndexedPiece
from ledger.stores.in_memory.namespace_rows import StoredNamespace
from projections.words.languages import SearchLanguage
from projections.words.ranking import BEST, DEFAULT_RANKING
from projections.words.searchable_text import AddPieces, Inherit, SearchChange, erases, removes, words_of_piece
from projections.words.word_index import WordIndex
from projections.words.words import words


class PieceIndex:
    """The searchable pieces of one namespace."""

    def __init__(self, language: SearchLanguage = "auto") -> None:
        self._language = language
        self._pieces: dict[PieceKey, IndexedPiece] = {}
        self._forks: dict[UUID, Fork] = {}  # the oldest first
        self._numbers: dict[PieceKey, int] = {}
        self._keys: dict[int, PieceKey] = {}
        self._ranking = WordIndex(language=language)

    def apply(self, change: SearchChange, stream: Stream, version: int, parent: tuple[UUID, int] | None) -> None:
        """Apply one change to *stream*, made by its event at *version*; *parent* is where it was forked, if it was."""
        if isinstance(change, AddPieces):
            for piece in change.pieces:
                self._put(IndexedPiece(stream, piece, version))
        elif isinstance(change, Inherit):
            if parent is not None:
                self._inherit(stream, *parent)
        else:
            self._change(change, stream, version)
            if stream.stream_id in self._forks:
                self._forks[stream.stream_id].changes.append((version, change))

    def counted(self) -> list[IndexedPiece]:
        """Return the pieces that some session has, or had when it was forked."""
        return [piece for piece in self._pieces.values() if piece.key in self._numbers]

    def shown(self, query: SearchQuery) -> Iterator[tuple[IndexedPiece, Stream]]:
        """Yield the pieces in the scope of *query*, each with the session it is found in."""
        for piece in self.counted():
            if piece.piece.kind not in query.kinds or query.collection not in {None, piece.piece.collection}:
                continue
            streams = (piece.stream, *(fork.stream for fork in self._forks.values()))
            wanted = (
                stream
                for stream in streams
                if (query.stream is None or stream.stream_id == query.stream.stream_id)
                and query.user_id in {None, stream.user_id}
                and self._has(stream, piece, include_erased=query.include_erased)
            )
            found = next(wanted, None)
            if found is not None:
                yield piece, found

    def search(self, query: SearchQuery) -> list[PieceHit]:
        """Return the pieces that contain a word of the query, best first."""
        ranking = query.ranking or DEFAULT_RANKING
        asked = self._ranking.asked(query.text)
        numbered = self._ranking.scores(asked, ranking, scope=self._counted_in(query))
        scores = {self._keys[number]: score for number, score in numbered.by_version.items()}
        hits = [piece.as_hit(stream, scores[piece.key]) for piece, stream in self.shown(query) if piece.key in scores]
        best = sorted(hits, key=_best_first)[: max(query.limit, BEST)]
        lines: dict[UUID, list[tuple[int, float]]] = {}
        lent = []
        for hit in best:
            if hit.kind == "entry" and hit.stream_id not in lines:
                lines[hit.stream_id] = self._line(hit.stream_id, query, scores)
            before, after = _neighbours(hit, lines.get(hit.stream_id, []))
            number = self._numbers[hit.key]
            parts = self._ranking.parts(number, asked, numbered, ranking, before=before, after=after)
            lent.append(replace(hit, score=parts.score, by_words=parts))
        return sorted(lent, key=_best_first)[: query.limit]

    def _counted_in(self, query: SearchQuery) -> set[int] | None:
        """Return the pieces among which the rarity of words is counted: those that the session has."""
        stream = query.stream
        if stream is None:
            return None
        return {
            self._numbers[piece.key]
            for piece in self.counted()
            if piece.piece.kind in query.kinds and self._has(stream, piece, include_erased=True)
        }

    def _line(self, session_id: UUID, query: SearchQuery, scores: Mapping[PieceKey, float]) -> list[tuple[int, float]]:
        """Return (version, score) of the entries that the session has, in order."""
        streams = (*(piece.stream for piece in self._pieces.values()), *(fork.stream for fork in self._forks.values()))
        session = next(stream for stream in streams if stream.stream_id == session_id)
        return sorted(
            (piece.piece.version, scores.get(piece.key, 0.0))
            for piece in self._pieces.values()
            if (piece.piece.kind, piece.piece.number) == ("entry", 0)
            and self._has(session, piece, include_erased=query.include_erased)
        )

    def _has(self, stream: Stream, piece: IndexedPiece, *, include_erased: bool) -> bool:
        if stream.stream_id == piece.stream.stream_id:
            return piece.is_there(None) and (include_erased or not piece.is_erased(None))
        fork = self._forks.get(stream.stream_id)
        until = fork.until.get(piece.stream.stream_id) if fork is not None else None
        if fork is None or until is None or piece.piece.kind == "knowledge" or not piece.is_there(until):
            return False
        changes = fork.changes_of(piece.stream.stream_id, self._forks)
        if any(removes(change, piece.piece) for change in changes):
            return False
        return include_erased or not (piece.is_erased(until) or any(erases(change, piece.piece) for change in changes))

    def _change(self, change: SearchChange, stream: Stream, version: int) -> None:
        for piece in [piece for piece in self._pieces.values() if piece.stream.stream_id == stream.stream_id]:
            if piece.removed_in is None and removes(change, piece.piece):
                self._put(replace(piece, removed_in=version))
            elif piece.erased_in is None and erases(change, piece.piece):
                self._put(replace(piece, erased_in=version))

    def _inherit(self, stream: Stream, parent_id: UUID, version: int) -> None:
        further = self._forks[parent_id].until if parent_id in self._forks else {}
        until = {parent_id: version, **{each: min(version, last) for each, last in further.items()}}
        self._forks[stream.stream_id] = Fork(stream, until)
        for piece in [piece for piece in self._pieces.values() if piece.stream.stream_id in until]:
            self._count(piece)

    def _put(self, piece: IndexedPiece) -> None:
        self._pieces[piece.key] = piece
        self._count(piece)

    def _count(self, piece: IndexedPiece) -> None:
        """Let a piece be ranked as long as its session has it, and for ever if a fork inherited it."""
        is_inherited = piece.piece.kind != "knowledge" and any(
            piece.is_there(until)
            for fork in self._forks.values()
            for ancestor_id, until in fork.until.items()
            if ancestor_id == piece.stream.stream_id
        )
        if is_inherited or piece.is_there(None):
            if piece.key not in self._numbers:
                number = self._numbers[piece.key] = len(self._keys)
                self._keys[number] = piece.key
                self._ranking.add(number, words_of_piece(piece.piece, self._language))
        elif piece.key in self._numbers:
            self._ranking.remove(self._numbers.pop(piece.key))


def _neighbours(hit: PieceHit, line: Sequence[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """Return the scores of the entries in *line* before and after *hit*, the nearest first; none if it is no entry."""
    if hit.kind != "entry":
        return [], []
    first, after = bisect_left(line, (hit.version,)), bisect_right(line, (hit.version, math.inf))
    return [score for _, score in reversed(line[:first][-3:])], [score for _, score in line[after : after + 1]]


def _best_first(hit: PieceHit) -> tuple[float, int, int, int]:
    return -hit.score, hit.position if hit.kind == "knowledge" else -hit.position, hit.piece, -hit.added_in


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
        language: SearchLanguage,
    ) -> int | None:
        namespace = self._namespaces.get(namespace_id)
        built = namespace.checkpoints.get((SEARCH, build)) if namespace else None
        if namespace is None or built is None or built.position != after:
            return built.position if built else None
        index = self._indexes.setdefault((namespace_id, build), PieceIndex(language))
        for each in changes:
            stream_id = each.stream_id
            index.apply(each.change, namespace.names[stream_id], each.version, namespace.parents.get(stream_id))
        namespace.checkpoints[SEARCH, build] = replace(
            built, position=position, updated_at=self._clock.now(), last_error=None
        )
        return position

    async def prune(self, namespace_id: UUID) -> int:
        builds = self._namespaces[namespace_id].checkpoints if namespace_id in self._namespaces else {}
        unused = [key for key in self._indexes if key[0] == namespace_id and (SEARCH, key[1]) not in builds]
        return sum(len(self._indexes.pop(key).counted()) for key in unused)

    async def find(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[PieceHit]:
        return self._index(namespace_id, build).search(query)

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        scope = SearchQuery(text="", kinds=("entry",), stream=stream, include_erased=include_erased)
        shown = self._index(stream.namespace_id, build).shown(scope)
        return {piece.piece.version for piece, _ in shown}.intersection(versions)

    async def stores_embeddings(self) -> bool:
        return True

    async def to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[PieceHit]:
        index = self._index(namespace_id, build)
        everything = SearchQuery(text="", kinds=("entry", "summary", "knowledge"), include_erased=True)
        left = [
            piece.as_hit(stream, 0.0)
            for piece, stream in index.shown(everything)
            if words(piece.piece.text) and (namespace_id, model, piece.key) not in self._vectors
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
            replace(piece.as_hit(stream, cosine := _cosine(vector, stored)), similarity=cosine)
            for piece, stream in index.shown(query)
            if (stored := self._vectors.get((namespace_id, model, piece.key))) is not None
            and len(stored) == len(vector)
        ]
        return sorted(near, key=lambda hit: (-hit.score, -hit.position, hit.piece, -hit.added_in))[: query.limit]

    def _index(self, namespace_id: UUID, build: int) -> "PieceIndex":
        return self._indexes.get((namespace_id, build)) or PieceIndex()


def _cosine(first: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*first) * math.hypot(*other)
    return sum(a * b for a, b in zip(first, other, strict=True)) / lengths if lengths else 0.0
