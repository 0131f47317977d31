"""One line in the log for each compaction: what it did, in which stream, or why it did nothing."""

import logging

from ledger.events import CompactionCompleted, CompactionDiscarded, CompactionFailed, RecordedEvent
from ledger.events.ids import Stream
from projections.values import ranges

log = logging.getLogger("ledger")


def log_outcome(stream: Stream, outcome: RecordedEvent) -> None:
    """Log the *outcome* of a compaction of the session of *stream*; other events are not logged.

    The line has the id of the stream: names of sessions, users and namespaces may tell of a person, as texts do.
    """
    # trust P-16: the words of a failure may be those of the text, and are in the event
    where = f"of stream {stream.stream_id}"
    match outcome.payload:
        case CompactionCompleted(key=key, summary_id=None) as done:
            log.info(
                "the compaction %s %s erased %d entries of %d tokens",
                key,
                where,
                ranges.size(done.covered),
                done.tokens_before,
            )
        case CompactionCompleted(key=key) as done:
            reason = done.error.partition(":")[0] if done.error else None
            by = f"by the extractive summarizer: {reason}" if reason else f"by {done.method}"
            log.log(
                logging.WARNING if done.error else logging.INFO,
                "the compaction %s %s wrote a summary of %d tokens for %d entries of %d tokens, %s",
                key,
                where,
                done.tokens_after,
                ranges.size(done.covered),
                done.tokens_before,
                by,
            )
        case CompactionFailed(key=key, reason="abandoned"):
            log.info("the compaction %s %s was abandoned by its process", key, where)
        case CompactionFailed(key=key, reason=reason):
            log.warning("the compaction %s %s failed: %s", key, where, reason)
        case CompactionDiscarded(key=key, reason=reason):
            log.info("the compaction %s %s was discarded: %s", key, where, reason)
