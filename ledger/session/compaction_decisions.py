"""Compactions: requested, completed, discarded, failed. Pure; a part of `decisions.decide`."""

from msgspec.structs import replace

from ledger.errors import CompactionInProgress
from ledger.events import (
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    DiscardReason,
    Event,
)
from ledger.session.commands import CompleteCompaction, FailCompaction, RequestCompaction
from ledger.session.state import SessionState
from projections.compactions import InFlight
from projections.strategies import COMPACTIONS


def request(state: SessionState, command: RequestCompaction) -> list[Event]:
    """Return the request of a planned compaction; one that only erases is completed at once.

    Raises:
        CompactionInProgress: a compaction with this key is running (R-CMP-7).
    """
    plan = command.plan
    if state.compactions.running(plan.key):
        raise CompactionInProgress(plan.key)
    if plan.effect != "overlay" and state.compactions.reserved(plan.covered):
        return []  # another key has reserved these entries; it is planned again later (R-CMP-7)
    requested = CompactionRequested(
        write_id=command.write_id,
        compaction_id=command.compaction_id,
        key=plan.key,
        strategy=plan.strategy,
        config=plan.config,
        action=plan.action,
        effect=plan.effect,
        covered=plan.covered,
        tokens=plan.tokens,
        seen_version=plan.seen_version,
        automatic=plan.automatic,
        reasons=plan.reasons,
        folds=plan.folds,
        target_tokens=plan.target_tokens,
        calls=command.calls,
        block=plan.block,
    )
    if plan.action == "summarize":
        return [requested]
    erased = CompactionCompleted(
        write_id=command.write_id,
        compaction_id=command.compaction_id,
        key=plan.key,
        strategy=plan.strategy,
        effect="erase",
        covered=plan.covered,
        tokens_before=plan.tokens,
    )
    return [requested, erased]


def complete(state: SessionState, command: CompleteCompaction) -> list[Event]:
    """Return the events of a result: none if there was one before, no summary if it is too late or not shorter."""
    flight = state.compactions.find(command.compaction_id)
    if flight is None:
        return []  # another worker completed it (V-CMP-3)
    asked, outcome = flight.request, command.outcome
    reason = _spoiled(state, flight)
    if reason is not None:
        return [
            CompactionDiscarded(
                write_id=command.write_id, compaction_id=asked.compaction_id, key=asked.key, reason=reason
            )
        ]
    if asked.effect == "replace" and outcome.tokens >= asked.tokens:
        return [
            CompactionFailed(
                write_id=command.write_id,
                compaction_id=asked.compaction_id,
                key=asked.key,
                reason="no_gain",
                detail=f"the summary has {outcome.tokens} tokens, what it stands for has {asked.tokens}",
            )
        ]
    folded = [found for found in state.summaries.live if found.summary_id in asked.folds]
    target = asked.target_tokens
    block = asked.block
    return [
        CompactionCompleted(
            write_id=command.write_id,
            compaction_id=asked.compaction_id,
            key=asked.key,
            strategy=asked.strategy,
            effect=asked.effect,
            covered=asked.covered,
            tokens_before=asked.tokens,
            folds=asked.folds,
            summary_id=outcome.summary_id,
            text=outcome.text,
            tokens_after=outcome.tokens,
            tokenizer=outcome.tokenizer,
            fallback=outcome.fallback,
            method=outcome.method,
            model=outcome.model,
            outputs=outcome.outputs,
            over_target=target is not None and outcome.tokens > target,
            trust=outcome.trust,
            model_failed=bool(outcome.error),
            error=outcome.error,
            # a block whose entries were all removed covers nothing (R-001-7)
            first_version=min(
                [*(first for first, _ in asked.covered), *(summary.first_version for summary in folded)], default=0
            ),
            starts_at=outcome.starts_at,
            ends_at=outcome.ends_at,
            block=replace(block, first_id=outcome.first_id, last_id=outcome.last_id) if block else None,
            passes=outcome.passes,
            ended=outcome.ended,
        )
    ]


def fail(state: SessionState, command: FailCompaction) -> list[Event]:
    """Return the event of a failure: none if the compaction has ended."""
    flight = state.compactions.find(command.compaction_id)
    if flight is None:
        return []
    reason = _spoiled(state, flight)
    common = {"write_id": command.write_id, "compaction_id": command.compaction_id, "key": flight.request.key}
    if reason is not None:
        return [CompactionDiscarded(**common, reason=reason)]
    return [CompactionFailed(**common, reason=command.reason, detail=command.detail)]


def _spoiled(state: SessionState, flight: InFlight) -> DiscardReason | None:
    """Return why a result for *flight* is too late, or None if it is not. Source: R-CMP-5, R-001-6."""
    if flight.spoiled is not None:
        return flight.spoiled
    strategy, block = state.config.compaction(flight.request.key), flight.request.block
    if block is None:
        return None
    fold = COMPACTIONS[strategy.type].progress if strategy is not None else None
    if fold is None or block.number < fold.evicts_before(strategy, state.progress_of(flight.request.key)):
        return "evicted"
    return None
