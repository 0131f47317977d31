"""The live summaries, as a fold. Source: R-GEN-13, R-000-8."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from ledger.events import (
    Block,
    CompactionCompleted,
    ContextSet,
    Method,
    Ranges,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
    to_datetime,
)
from projections.values import ranges

#: The key of a summary that a caller wrote (R-004-9); compactions have the keys of their configs.
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
    #: It hides nothing: what it covers is still there, or left in another way (R-CMP-2).
    overlay: bool = False

    @property
    def created_at(self) -> datetime:
        """When it was created: as its import says, or else when it was recorded."""
        return self.claimed_at or to_datetime(self.recorded_us)

    @property
    def compression_ratio(self) -> float:
        """Original tokens per summary token: 3.5 means that less than a third is left."""
        return self.tokens_before / max(1, self.tokens)

    @property
    def entry_count(self) -> int:
        """How many entries it covers itself, without those of folded summaries."""
        return ranges.size(self.covered)


class LiveSummaries(msgspec.Struct, frozen=True):
    """Summaries from their completion until folded, evicted or cleared, oldest place first."""

    live: tuple[Summary, ...] = ()
    tokens: int = 0

    def find(self, summary_id: str) -> Summary | None:
        """Return the live summary with *summary_id*."""
        return next((summary for summary in self.live if summary.summary_id == summary_id), None)

    def evict(self, key: str, *, before: int) -> "LiveSummaries":
        """Return the summaries without the blocks of *key* whose number is below *before*."""
        remaining = tuple(
            summary
            for summary in self.live
            if summary.key != key or summary.block is None or summary.block.number >= before
        )
        return self if len(remaining) == len(self.live) else _of(remaining)

    def without_oldest(self, surplus: int, of: Iterable[Summary]) -> "LiveSummaries":
        """Return the summaries without the oldest *surplus* in *of*."""
        left = {summary.summary_id for summary in list(of)[:surplus]} if surplus > 0 else set()
        return _of(tuple(each for each in self.live if each.summary_id not in left)) if left else self


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
        case RebuildCompleted(retired=retired):
            return _of(tuple(summary for summary in state.live if summary.summary_id not in retired))
        case SessionCleared():
            return LiveSummaries()
        case _:
            return state


def summary_of(event: RecordedEvent, payload: CompactionCompleted, summary_id: str) -> Summary:
    """Return the summary of a completed compaction."""
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
    """Return the summary that a caller wrote, which covers nothing and is first; None if it was removed (R-004-9)."""
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
