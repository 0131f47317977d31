"""What a restore decides: the state of a version again, so that strategies go on as they would have from there."""

from bisect import bisect_left
from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    CompactionContinued,
    ConfigChanged,
    ContextSet,
    Event,
    RecordedEvent,
    SessionCleared,
)
from ledger.session.commands import ChangeConfig, ReplaceState, RestoreState
from ledger.session.continuation import continuation_of, renumbered
from ledger.session.merge.fields import context_text
from ledger.session.merge.merging import merge, started
from ledger.session.state import SESSION, SessionState, end_of_batch
from projections import config, ranges
from projections.stats import Counts
from projections.summaries import Summary


def restore(state: SessionState, command: RestoreState) -> list[Event]:
    """Return the events that bring back *past*: its messages and fields, config, summaries, and what was counted."""
    put, past = command.put, end_of_batch(command.past)
    events: list[Event] = []
    if command.anew is not None:
        events += started(state, put)[0]
        events += replace_state(end_of_batch(_after(state, events)), command.anew)
        body = replace(put.body, context=context_text(end_of_batch(_after(state, events))))
        put = replace(put, body=body, opening=None, restoring=False)
    events += merge(end_of_batch(_after(state, events)), put)
    after = _after(state, events)
    working = past.working
    events += configure(after, ChangeConfig(put.write_id, past.config, working.extraction, working.tokens))
    within = _after(state, events)
    after = end_of_batch(within)
    before = [entry.version for entry in past.window.entries]
    now = [entry.version for entry in after.window.entries]
    next_version = now[-1] + 1 if now else after.version + 1
    at = [*now, next_version]
    wanted = [(summary.summary_id, bisect_left(before, summary.first_version)) for summary in past.summaries.live]
    if wanted != [(summary.summary_id, bisect_left(now, summary.first_version)) for summary in after.summaries.live]:
        # also those that the end of the batch would evict, because others take their place first
        live = tuple(summary.summary_id for summary in within.summaries.live)
        events += [ContextSet(write_id=put.write_id, folds=live)] if live else []
        for number, (summary, (_, place)) in enumerate(zip(past.summaries.live, wanted, strict=True)):
            own = summary.first_version
            # what it covers may be where it was, and be recalled before or after it
            stays = own > after.cleared_version and bisect_left(now, own) == place
            first = own if stays else at[place]
            events.append(_restored(summary, put.write_id, f"{put.write_id}-{number}", first))
    counted = continuation_of(past, before)
    if counted != continuation_of(after, now):
        there = renumbered(counted, lambda place: at[place - 1], among=range(1, len(at)))
        events.append(CompactionContinued(write_id=put.write_id, continuation=there))
    return events


def configure(state: SessionState, command: ChangeConfig) -> list[Event]:
    """Return the change of the config; no event if it changes nothing."""
    wanted = ConfigChanged(
        write_id=command.write_id,
        config=config.dump(command.config or state.config),
        extraction=command.extraction or state.working.extraction,
        tokens=state.working.tokens if command.tokens is None else command.tokens,
    )
    unchanged = (
        config.load(wanted.config) == state.config
        and wanted.extraction == state.working.extraction
        and wanted.tokens == state.working.tokens
    )
    return [] if unchanged else [wanted]


def _after(state: SessionState, events: Sequence[Event]) -> SessionState:
    """Return *state* as it will be after *events*, before they have ids and times."""
    numbered = enumerate(events, state.version + 1)
    return SESSION.fold(
        (RecordedEvent(version, 0, UUID(int=0), 0, state.updated_us, "", event) for version, event in numbered), state
    )


def _restored(summary: Summary, write_id: str, compaction_id: str, first_version: int) -> CompactionCompleted:
    """Return the summary again: it hides nothing, because what it covers left in another way since."""
    return CompactionCompleted(
        write_id=write_id,
        compaction_id=compaction_id,
        key=summary.key,
        strategy="imported",
        effect="overlay",
        covered=summary.covered,
        tokens_before=summary.tokens_before,
        folds=summary.folds,
        summary_id=summary.summary_id,
        text=summary.text,
        tokens_after=summary.tokens,
        tokenizer=summary.tokenizer,
        method="imported",
        model=summary.model,
        trust=summary.trust,
        first_version=first_version,
        starts_at=summary.starts_at,
        ends_at=summary.ends_at,
        created_at=summary.created_at,
        block=summary.block,
    )


def replace_state(state: SessionState, command: ReplaceState) -> list[Event]:
    """Return a clear if there is something to clear, the entries, and their summaries. Source: R-000-15."""
    events: list[Event] = []
    if state.counts != Counts() or state.summaries.live:
        events.append(SessionCleared(write_id=command.write_id))
    first = state.version + len(events) + (0 if state.opened else 1) + 1
    events.extend(command.entries)
    for summary in command.summaries:
        covered = ranges.ranges_of(first + index for index in sorted(summary.entries))
        events.append(
            CompactionCompleted(
                write_id=command.write_id,
                compaction_id=summary.compaction_id,
                key=summary.key,
                strategy="imported",
                effect="erase" if summary.erases else "replace" if summary.hides else "overlay",
                covered=covered,
                tokens_before=summary.tokens_before,
                summary_id=summary.summary_id,
                text=summary.text,
                tokens_after=summary.tokens,
                tokenizer=summary.tokenizer,
                method="imported",
                # an overlay whose entries were all removed covers nothing (R-001-7)
                first_version=first + summary.place if summary.place is not None else covered[0][0] if covered else 0,
                starts_at=summary.starts_at,
                ends_at=summary.ends_at,
                created_at=summary.created_at,
                block=summary.block,
                model=summary.model,
                trust=summary.trust,
            )
        )
    if command.continuation is not None:
        counted = renumbered(
            command.continuation, lambda place: first - 1 + place, among=range(1, len(command.entries) + 1)
        )
        events.append(CompactionContinued(write_id=command.write_id, continuation=counted))
    return events
