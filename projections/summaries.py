"""The live summaries, as a fold. Source: R-GEN-13, R-000-8."""

from datetime import datetime

import msgspec

from ledger.events import (
    Block,
    CompactionCompleted,
    ContextSet,
    Method,
    Ranges,
    RecordedEvent,
    SessionCleared,
    to_datetime,
)
from projections import ranges

#: The key of what a caller wrote as summary (R-004-9); compactions have those of their configs.
CONTEXT_KEY = "context"


class Summary(msgspec.Struct, frozen=True):
    """Text that stands for a range of entries; ``first_version`` is its place among them."""

    version: int
    summary_id: str
    key: str
    text: str
    tokens: int
    tokenizer: str
    tokens_before: int
    covered: Ranges
    first_version: int
    recorded_us: int
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    method: Method | None = None
    model: str | None = None
    folds: tuple[str, ...] = ()
    trust: str | None = None
    claimed_at: datetime | None = None
    block: Block | None = None
    #: It hides nothing: what it covers left by other ways, or is there still (R-CMP-2).
    overlay: bool = False

    @property
    def created_at(self) -> datetime:
        """When it was made: when it was recorded, or what its import says."""
        return self.claimed_at or to_datetime(self.recorded_us)

    @property
    def compression_ratio(self) -> float:
        """Original tokens per summary token: 3.5 means a third and less is left."""
        return self.tokens_before / max(1, self.tokens)

    @property
    def entry_count(self) -> int:
        """How many entries it covers itself, folded summaries not counted."""
        return ranges.size(self.covered)


class LiveSummaries(msgspec.Struct, frozen=True):
    """Summaries from their completion until folded, evicted or cleared, oldest place first."""

    live: tuple[Summary, ...] = ()
    tokens: int = 0

    def find(self, summary_id: str) -> Summary | None:
        """Return the live summary with *summary_id*."""
        return next((summary for summary in self.live if summary.summary_id == summary_id), None)

    def evict(self, key: str, *, before: int) -> "LiveSummaries":
        """Return what is left when blocks of *key* numbered below *before* are dropped."""
        remaining = tuple(
            summary
            for summary in self.live
            if summary.key != key or summary.block is None or summary.block.number >= before
        )
        return self if len(remaining) == len(self.live) else _of(remaining)


def evolve(state: LiveSummaries, event: RecordedEvent) -> LiveSummaries:
    """Return the live summaries after *event*."""
    match event.payload:
        case CompactionCompleted() as payload if payload.summary_id is not None:
            remaining = [summary for summary in state.live if summary.summary_id not in payload.folds]
            return _of((*remaining, summary_of(event, payload, payload.summary_id)))
        case ContextSet() as payload:
            remaining = [summary for summary in state.live if summary.summary_id not in payload.folds]
            settled = summary_context(event, payload)
            return _of((*remaining, settled) if settled else tuple(remaining))
        case SessionCleared():
            return LiveSummaries()
        case _:
            return state


def summary_of(event: RecordedEvent, payload: CompactionCompleted, summary_id: str) -> Summary:
    """Return the summary that a completed compaction brought."""
    return Summary(
        event.version,
        summary_id,
        payload.key,
        payload.text,
        payload.tokens_after,
        payload.tokenizer,
        payload.tokens_before,
        payload.covered,
        payload.first_version,
        event.recorded_us,
        payload.starts_at,
        payload.ends_at,
        payload.method,
        payload.model,
        payload.folds,
        payload.trust,
        payload.created_at,
        payload.block,
        payload.effect == "overlay",
    )


def summary_context(event: RecordedEvent, payload: ContextSet) -> Summary | None:
    """Return the summary a caller wrote: it covers nothing and stands first; none if it was withdrawn.

    Source: R-004-9.
    """
    if payload.summary_id is None:
        return None
    return Summary(
        event.version,
        payload.summary_id,
        CONTEXT_KEY,
        payload.text,
        payload.tokens,
        payload.tokenizer,
        0,
        (),
        0,
        event.recorded_us,
        method="imported",
        folds=payload.folds,
    )


def _of(summaries: tuple[Summary, ...]) -> LiveSummaries:
    ordered = tuple(sorted(summaries, key=lambda summary: (summary.first_version, summary.version)))
    return LiveSummaries(ordered, sum(summary.tokens for summary in ordered))
