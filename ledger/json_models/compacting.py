"""What a compaction did."""

from ledger.events import Ranges
from ledger.json_models.base import Shape
from ledger.json_models.entries import SummaryShape
from projections.ranges import size
from projections.strategies.base import CompactionPlan


class CompactionShape(Shape):
    """What a compaction did, or of a dry run would do: then it has no id, no summary and no tokens after."""

    compaction_id: str | None
    key: str
    covered: Ranges
    entries_compressed: int
    summary: SummaryShape | None
    method: str | None
    tokens_before: int
    tokens_after: int | None
    tokens_saved: int | None
    version: int

    @classmethod
    def planned(cls, plan: CompactionPlan, version: int) -> "CompactionShape":
        """Return what *plan* would do to a session at *version*."""
        return cls(
            compaction_id=None,
            key=plan.key,
            covered=plan.covered,
            entries_compressed=size(plan.covered),
            summary=None,
            method=None,
            tokens_before=plan.tokens,
            tokens_after=None,
            tokens_saved=None,
            version=version,
        )
