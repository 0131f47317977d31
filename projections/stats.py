"""Counts of entries by what happened to them, as a fold; and the statistics for callers. Source: R-000-2."""

from datetime import datetime
from decimal import Decimal
from typing import Final

import msgspec
from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    EntryAdded,
    EntryRemoved,
    RebuildAnswered,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
)
from projections.values import ranges

_NOTED: Final = 3  # as many as a reader is told why


class Counts(msgspec.Struct, frozen=True):
    """Entries since the last clear by what happened to them (the others are active), and the cost of compactions."""

    added: int = 0
    covered: int = 0
    erased: int = 0
    removed: int = 0
    compactions: int = 0
    model_calls: int = 0
    model_tokens: int = 0
    last_compaction_us: int = 0
    #: Entries that say that the log they were read from does not tell what the agent sent.
    window_not_known: int = 0
    #: The versions of the newest of these.
    not_known_at: tuple[int, ...] = ()


class SessionStats(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of a session; each entry since the last clear is active, compressed, or removed."""

    #: All since the last clear, whatever became of them.
    total_entries: int = 0
    active_entries: int = 0
    compressed_entries: int = 0
    removed_entries: int = 0
    #: Those of the compressed ones that no summary stands for.
    erased_entries: int = 0
    #: Those that say, in their metadata, that the log they were read from does not tell what the agent sent.
    window_not_known: int = 0
    summaries: int = 0
    #: Tokens of the active entries and the summaries; not of what they stand for.
    total_tokens: int = 0
    #: Tokens of the active entries.
    active_tokens: int = 0
    over_budget: bool = False
    near_limit: bool = False
    compactions: int = 0
    compactions_in_flight: int = 0
    #: Failures in a row, of all compactions, since each last succeeded, also where no model wrote the summary.
    failed_compactions: int = 0
    #: Of these failures: what the last one was, when the first one was, and which model was asked last.
    last_failure: str | None = None
    failing_since: datetime | None = None
    failing_model: str | None = None
    model_calls: int = 0
    model_tokens: int = 0
    memories: int = 0
    #: Memories that are in long-term memory as well.
    promoted_memories: int = 0
    version: int = 0
    #: Batches of events that were written together.
    writes: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_compaction_at: datetime | None = None
    expires_at: datetime | None = None


class MemoryMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """How much is remembered, and how often and when it was last compacted."""

    message_count: int = 0
    estimated_tokens: int = 0
    compression_count: int = 0
    last_compression_at: datetime | None = None


def evolve(state: Counts, event: RecordedEvent) -> Counts:
    """Return the counts after *event*."""
    match event.payload:
        case EntryAdded(facts=facts) if facts.window_not_known:
            newest = (*state.not_known_at, event.version)[-_NOTED:]
            return replace(
                state, added=state.added + 1, window_not_known=state.window_not_known + 1, not_known_at=newest
            )
        case EntryAdded():
            return replace(state, added=state.added + 1)
        case CompactionCompleted() as payload:
            covered = ranges.size(payload.covered)
            return replace(
                state,
                covered=state.covered + (covered if payload.effect == "replace" else 0),
                erased=state.erased + (covered if payload.effect == "erase" else 0),
                compactions=state.compactions + 1,
                model_calls=state.model_calls + len(payload.outputs),
                model_tokens=state.model_tokens
                + sum((output.input_tokens or 0) + (output.output_tokens or 0) for output in payload.outputs),
                last_compaction_us=event.recorded_us,
            )
        case EntryRemoved():
            return replace(state, removed=state.removed + 1)
        case RebuildAnswered(output=output):
            spent = (output.input_tokens or 0) + (output.output_tokens or 0)
            return replace(state, model_calls=state.model_calls + 1, model_tokens=state.model_tokens + spent)
        case RebuildCompleted(removed=removed):
            return replace(state, covered=0, erased=0, removed=removed)
        case SessionCleared():
            return Counts()
        case _:
            return state


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """Model calls for summaries and their tokens; *cost_usd* is None if one of the models has no price."""

    compactions: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
