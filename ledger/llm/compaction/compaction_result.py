"""What a compaction returns to its caller."""

import msgspec

from ledger.errors import CompactionNotCompleted
from ledger.events import CompactionCompleted, Ranges, RecordedEvent
from projections.summaries import Summary, summary_of
from projections.values import ranges


class CompactionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a compaction; handlers of ``compressed`` get it."""

    compaction_id: str
    key: str
    summary: Summary | None
    entries_compressed: int
    tokens_before: int
    tokens_after: int
    version: int
    covered: Ranges = ()
    method: str | None = None
    replayed: bool = False

    @property
    def tokens_saved(self) -> int:
        """Tokens before less those of the summary."""
        return self.tokens_before - self.tokens_after


def result_of_event(outcome: RecordedEvent | None) -> CompactionResult:
    """Return the result in *outcome*.

    Raises:
        CompactionNotCompleted: *outcome* is None or not a completion.
    """
    if outcome is None or not isinstance(outcome.payload, CompactionCompleted):
        reason = getattr(outcome.payload, "reason", "error") if outcome else "error"
        detail = getattr(outcome.payload, "detail", "") if outcome else ""
        raise CompactionNotCompleted(reason, detail or "it came too late")
    return result_of(outcome, outcome.payload)


def result_of(event: RecordedEvent, payload: CompactionCompleted) -> CompactionResult:
    """Return the result in *event*, whose payload is *payload*."""
    return CompactionResult(
        compaction_id=payload.compaction_id,
        key=payload.key,
        summary=summary_of(event, payload, payload.summary_id) if payload.summary_id else None,
        entries_compressed=ranges.size(payload.covered),
        tokens_before=payload.tokens_before,
        tokens_after=payload.tokens_after,
        version=event.version,
        covered=payload.covered,
        method=payload.method,
    )
