"""What a requested compaction came to: asked of its model, found in the log, and what is evaluated after it."""

import asyncio

from ledger.application.background.compaction_requests import CompactionJob
from ledger.errors import SummarizerFailed
from ledger.events import CompactionCompleted, CompactionDiscarded, CompactionFailed, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.llm.compaction.summarizing import execute
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import Clock, Store, Summarizer
from ledger.session.commands import CompleteCompaction, FailCompaction

_OUTCOMES = (CompactionCompleted, CompactionFailed, CompactionDiscarded)


async def outcome_of(
    job: CompactionJob, summarizer: Summarizer, *, clock: Clock, models: ModelCalls
) -> CompleteCompaction | FailCompaction:
    """Call the *summarizer* for *job* and return the command that records what came of it, also a failure."""
    compaction_id = job.request.compaction_id
    try:
        outcome = await execute(
            job.request,
            job.dialogue,
            summarizer,
            on_failure=job.on_failure,
            tokenizer=TOKENIZERS[job.tokenizer],
            clock=clock,
            models=models,
        )
    except SummarizerFailed as failure:
        return FailCompaction(clock.ulid(), compaction_id, failure.reason, str(failure)[:500])
    except asyncio.CancelledError:  # the services are closing
        return FailCompaction(clock.ulid(), compaction_id, "abandoned", "the ledger was closed")
    return CompleteCompaction(clock.ulid(), compaction_id, outcome)


async def recorded_outcome(store: Store, stream: Stream, compaction_id: str, *, after: int) -> RecordedEvent | None:
    """Return the event that ended a compaction, requested at version *after*; None if it goes on."""
    for stored in await store.events.read_stream(stream, after=after):
        event = decode(stored)
        if isinstance(event.payload, _OUTCOMES) and event.payload.compaction_id == compaction_id:
            return event
    return None


def next_evaluation(job: CompactionJob, event: RecordedEvent, then_from: int | None) -> int | None:
    """Return from which compaction of the config on to evaluate after the outcome *event*; None for not at all.

    *then_from* is the number of the compaction of *job*; None for one that a caller asked for.
    """
    # R-CMP-8
    if isinstance(event.payload, CompactionFailed) and event.payload.reason == "abandoned":
        return None  # the ledger is closing, or another worker took over
    if event.version > job.version + 1:
        return 0  # batches or outcomes came meanwhile, whose evaluation found this one running
    if isinstance(event.payload, CompactionDiscarded):
        return then_from or 0
    if then_from is None:
        return None
    return then_from if job.request.block is not None else then_from + 1
