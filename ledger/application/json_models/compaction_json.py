"""What a compaction did."""

from ledger.application.json_models.comparison_json import ConfigJson
from ledger.application.json_models.entry_json import SummaryShape
from ledger.application.json_models.shapes import Shape, Time
from ledger.events import Ranges, RebuildFailure
from projections.rebuilds import RebuildStatus
from projections.strategies.base import CompactionPlan
from projections.values.ranges import size


class RebuildShape(Shape):
    """A rebuild under a memory config: how far it is, or how it ended.

    While it runs, *until* is the version that it had come to when a model last wrote a summary for it, and *version*
    that of the session. *summaries* counts the texts that models wrote for it. It is *paused* while it waits for a
    worker, because one request may ask for no more. *reason* and *detail* say why it failed.
    """

    rebuild_id: str
    status: RebuildStatus
    config: ConfigJson
    requested_version: int
    requested_at: Time
    touched_at: Time
    summaries: int
    until: int
    version: int
    paused: bool
    ended_version: int | None
    reason: RebuildFailure | None
    detail: str


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
