"""What a search found."""

from collections.abc import Iterable

from ledger.json_models.base import Shape, UserId
from ledger.json_models.entries import EntryShape, SummaryShape
from ledger.search.finder import SearchResult


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


class HitsShape(Shape):
    """What was found, best first."""

    results: tuple[HitShape, ...]

    @classmethod
    def of(cls, found: Iterable[SearchResult]) -> "HitsShape":
        """Return what was *found*."""
        return cls(results=tuple(HitShape.model_validate(hit) for hit in found))
