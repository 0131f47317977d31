"""What search needs from a store and from an embedder, and the shapes that pass through."""

from collections.abc import Sequence
from typing import Final, Literal, Protocol, TypeAlias, get_args, runtime_checkable
from uuid import UUID

import msgspec

from ledger.ids import Stream
from projections.search import Change, SearchKind

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


class StreamChange(msgspec.Struct, frozen=True):
    """A change to what can be found of one session, whose names the store knows."""

    stream_id: UUID
    change: Change


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question: any text, and in which sessions, of which kinds, to look for it.

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


class Hit(msgspec.Struct, frozen=True, kw_only=True):
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
    def place(self) -> tuple[UUID, int, str, int]:
        """What tells it from every other piece of its namespace."""
        return self.stream_id, self.version, self.kind, self.piece


class SearchStore(Protocol):
    """The stored projection behind search; *build* as in `indexes.Checkpoint`, of the projection ``search``."""

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
        """Apply *changes* in order and note that *build* is folded up to *position*, in one transaction.

        Return the position reached. If *build* is not at *after* any more, somebody else was faster, and nothing
        is done; none if it is no build, or no longer one.
        """
        ...

    async def prune_pieces(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that are none any more; return how many."""
        ...

    async def search(self, namespace_id: UUID, build: int, query: SearchQuery) -> list[Hit]:
        """Return the pieces with any word of the query, best first; among equals the newest, of knowledge the oldest.

        No text is refused, and one without a known word finds nothing.
        """
        ...

    async def findable(
        self, stream: Stream, build: int, versions: Sequence[int], *, include_erased: bool = False
    ) -> set[int]:
        """Return those of *versions* at which the session has an entry that may be found."""
        ...


class EmbeddingStore(Protocol):
    """Embeddings of pieces, kept apart from their words; they may lag (DESIGN §6)."""

    async def embeds(self) -> bool:
        """Tell whether this store can keep embeddings: the server may lack pgvector."""
        ...

    async def pieces_to_embed(self, namespace_id: UUID, build: int, model: str, *, limit: int) -> list[Hit]:
        """Return pieces that have no embedding by *model*, oldest first, their score 0."""
        ...

    async def save_embeddings(
        self, namespace_id: UUID, model: str, embeddings: Sequence[tuple[Hit, Sequence[float]]]
    ) -> None:
        """Keep embeddings, in place of those there are."""
        ...

    async def search_similar(
        self, namespace_id: UUID, build: int, query: SearchQuery, model: str, vector: Sequence[float]
    ) -> list[Hit]:
        """Return the pieces nearest in meaning, best first, scored by cosine similarity."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def model(self) -> str:
        """The name embeddings are kept under; those of different models are never compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order.

        Raises:
            EmbedderFailed: no usable answer came.
        """
        ...
