"""One line in the log for each compaction: what it did, in which session, or why it did nothing."""

import logging

from ledger.events import CompactionCompleted, CompactionDiscarded, CompactionFailed, RecordedEvent
from ledger.ids import Stream
from projections import ranges

log = logging.getLogger("ledger")


def log_outcome(stream: Stream, outcome: RecordedEvent) -> None:
    """Log the *outcome* of a compaction of the session of *stream*; other events are not logged.

    The line names no user and has no text of the session.
    """
    # trust P-16
    where = f"of session {stream.session_id} in namespace {stream.namespace}"
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
            by = f"by {done.method}" if not done.error else f"by the extractive summarizer: {done.error}"
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
        case CompactionFailed(key=key, reason=reason, detail=detail):
            log.warning("the compaction %s %s failed: %s: %s", key, where, reason, detail)
        case CompactionDiscarded(key=key, reason=reason):
            log.info("the compaction %s %s was discarded: %s", key, where, reason)
