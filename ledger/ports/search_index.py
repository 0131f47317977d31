"""The search index: words and embeddings of texts, and the queries for them."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias
from uuid import UUID

import msgspec

from ledger.events.ids import Stream
from projections.words.languages import SearchLanguage
from projections.words.ranking import Ranking
from projections.words.searchable_text import SearchChange, SearchKind
from projections.words.word_index import ScoreParts

#: The name of the stored projection and of its checkpoints.
SEARCH: Final = "search"
#: What identifies a piece in its namespace: the stream whose event added it, its version, kind and number, and the
#: version of that event, since an edit adds a piece anew.
PieceKey: TypeAlias = tuple[UUID, int, str, int, int]


class StreamChange(msgspec.Struct, frozen=True):
    """A change to the searchable pieces of one session by its event at *version*; the store knows its names."""

    stream_id: UUID
    version: int
    change: SearchChange


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query: any text, and the sessions and kinds of pieces to search.

    *language* is that of the index; without a *ranking* the default weights count.
    """

    text: str
    kinds: tuple[SearchKind, ...] = ("entry", "summary")
    stream: Stream | None = None
    user_id: str | None = None
    collection: str | None = None
    include_erased: bool = False
    language: SearchLanguage = "auto"
    ranking: Ranking | None = None
    limit: int = 10


class PieceHit(msgspec.Struct, frozen=True, kw_only=True):
    """A reference to a piece that was found, with its score.

    The session is one that has the piece. A fork has the pieces of its parents too; *origin_id* is the stream whose
    event, at version *added_in*, added the piece. *by_words* and *similarity* say what it was found by, in words and in
    meaning.
    """

    stream_id: UUID
    user_id: str
    session_id: str
    origin_id: UUID
    added_in: int
    version: int
    kind: SearchKind
    piece: int
    position: int
    first_character: int
    characters: int
    score: float
    by_words: ScoreParts | None = None
    similarity: float | None = None

    @property
    def key(self) -> PieceKey:
        """What identifies the piece."""
        return self.origin_id, self.version, self.kind, self.piece, self.added_in


class SearchIndexStore(Protocol):
    """The stored projection ``search``; *build* as in `stored_projections.Checkpoint`.

    Embeddings are stored apart from the words and may lag (style §4).
    """

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
        """Apply *changes* in order and record that *build* is folded up to *position*, in one transaction.

        Return the position reached. If *build* is no longer at *after*, another process was faster and nothing is
        written. Return None if the build does not exist (any more).
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist and return how many."""
        ...

    async def find(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[PieceHit]:
        """Return the pieces with any word of the query, best first.

        A piece that several sessions of the scope have, because they are forks, is returned once: in the session
        that added it, or else in the oldest fork. Pieces with equal scores come newest first, pieces of knowledge
        oldest first. Accepts any text; a text without an indexed word finds nothing.
        """
        ...

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        """Return the *versions* at which the session has an entry that search may return."""
        ...

    async def stores_embeddings(self) -> bool:
        """Return whether embeddings can be stored; it needs pgvector on the server."""
        ...

    async def to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[PieceHit]:
        """Return pieces that have no embedding by *model*, oldest first, with score 0."""
        ...

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[PieceHit, Sequence[float]]]
    ) -> None:
        """Store embeddings, replacing existing ones."""
        ...

    async def find_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[PieceHit]:
        """Return the pieces nearest in meaning, best first, scored by cosine similarity."""
        ...
