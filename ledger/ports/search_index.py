"""The search index: words and embeddings of what was said, and the queries for them."""

from collections.abc import Sequence
from typing import Final, Literal, Protocol, TypeAlias, get_args
from uuid import UUID

import msgspec

from ledger.ids import Stream
from projections.search import SearchChange, SearchKind

#: Text search configurations that every supported PostgreSQL has, each with builds of its own. Only ever added to.
SearchLanguage: TypeAlias = Literal[
    "simple",
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
    "yiddish",
]
LANGUAGES: Final[tuple[str, ...]] = get_args(SearchLanguage)
#: The name of the stored projection, that of its checkpoints.
SEARCH: Final = "search"
#: What identifies a piece in its namespace: its stream, the version, the kind, its number.
PieceKey: TypeAlias = tuple[UUID, int, str, int]


class StreamChange(msgspec.Struct, frozen=True):
    """A change to what can be found of one session, whose names the store knows."""

    stream_id: UUID
    change: SearchChange


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query: any text, and in which sessions, of which kinds, to look for it.

    *language* is a text search configuration of PostgreSQL; the store in memory knows no language.
    """

    text: str
    kinds: tuple[SearchKind, ...] = ("entry", "summary")
    stream: Stream | None = None
    user_id: str | None = None
    collection: str | None = None
    include_erased: bool = False
    language: str = "simple"
    limit: int = 10


class PieceHit(msgspec.Struct, frozen=True, kw_only=True):
    """A piece that was found, by reference, with its score."""

    stream_id: UUID
    user_id: str
    session_id: str
    version: int
    kind: SearchKind
    piece: int
    position: int
    first_character: int
    characters: int
    score: float

    @property
    def key(self) -> PieceKey:
        """What identifies the piece in its namespace."""
        return self.stream_id, self.version, self.kind, self.piece


class SearchIndexStore(Protocol):
    """The stored projection behind search; *build* as in `stored_projections.Checkpoint`, of ``search``.

    Embeddings are stored apart from the words; they may lag (design §6).
    """

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
        """Apply *changes* in order and record that *build* is folded up to *position*, in one transaction.

        Return the position reached. If *build* is no longer at *after*, another process was faster, and nothing
        is done; none if there is no such build, or no longer.
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist; return how many."""
        ...

    async def find(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[PieceHit]:
        """Return the pieces with any word of the query, best first; among equals the newest, of knowledge the oldest.

        No text is refused, and one without a known word finds nothing.
        """
        ...

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        """Return those of *versions* at which the session has an entry that may be found."""
        ...

    async def stores_embeddings(self) -> bool:
        """Tell whether embeddings can be stored: the server may lack pgvector."""
        ...

    async def to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[PieceHit]:
        """Return pieces that have no embedding by *model*, oldest first, their score 0."""
        ...

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[PieceHit, Sequence[float]]]
    ) -> None:
        """Store embeddings, in place of those there are."""
        ...

    async def find_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[PieceHit]:
        """Return the pieces nearest in meaning, best first, scored by cosine similarity."""
        ...
