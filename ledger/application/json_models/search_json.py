"""What a search found."""

from collections.abc import Iterable

from pydantic import Field

from ledger.application.json_models.entry_json import EntryShape, SummaryShape
from ledger.application.json_models.shapes import Shape, UserId
from ledger.indexes.search.search_results import SearchResult


class ScorePartsShape(Shape):
    """The parts of a score by words; it is their sum."""

    words: float = Field(description="The words of the query that the text has itself.")
    neighbours: float = Field(description="What the entries around it lend.")
    speaker: float = Field(description="Its speaker is named in the query.")
    date: float = Field(description="It was said on a day that the query names.")


class WhyShape(Shape):
    """Why a text was found."""

    words: tuple[str, ...] = Field(description="The words of the query that it has, in some form.")
    by_words: ScorePartsShape | None = Field(description="Null if it was found by its meaning only.")
    similarity: float | None = Field(description="The cosine of its vector and the query's; null if not compared.")


class RecalledShape(Shape):
    """An entry that a search brought into the window; *why* is null for one that came with a hit."""

    version: int
    score: float
    why: WhyShape | None


class HitShape(Shape):
    """A text that was found, and the entries around it."""

    session_id: str
    user_id: UserId
    version: int
    kind: str
    score: float
    text: str
    first_character: int
    entry: EntryShape | None
    summary: SummaryShape | None
    before: tuple[EntryShape, ...]
    after: tuple[EntryShape, ...]
    why: WhyShape


class HitsShape(Shape):
    """What was found, best first."""

    results: tuple[HitShape, ...]

    @classmethod
    def of(cls, found: Iterable[SearchResult]) -> "HitsShape":
        """Return what was *found*."""
        return cls(results=tuple(HitShape.model_validate(hit) for hit in found))
