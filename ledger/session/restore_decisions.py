"""What a restore decides: the state of a version again, so that strategies go on as they would have from there."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    CompactionContinued,
    ConfigChanged,
    ContextSet,
    EntryAdded,
    Event,
    RecordedEvent,
    SessionCleared,
)
from ledger.session.commands import ChangeConfig, ReplaceState, RestoreState
from ledger.session.continuation import continuation_of, entries_of_blocks, renumbered
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.merge.merge_fields import context_text
from ledger.session.merge.merging import merge, started
from ledger.session.state import SessionState
from projections.memory_config import config
from projections.stats import Counts
from projections.summaries import Summary
from projections.values import ranges


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
    again = {} if command.anew is None else _again(command.anew, state, events)
    wanted = [(summary.summary_id, bisect_left(before, summary.first_version)) for summary in past.summaries.live]
    if wanted != [(summary.summary_id, bisect_left(now, summary.first_version)) for summary in after.summaries.live]:
        # also those that the end of the batch would evict, because others take their place first
        live = tuple(summary.summary_id for summary in within.summaries.live)
        events += [ContextSet(write_id=put.write_id, folds=live)] if live else []
        summaries = [_renumbered(summary, again) for summary in past.summaries.live] if again else past.summaries.live
        for number, (summary, (_, place)) in enumerate(zip(summaries, wanted, strict=True)):
            own = summary.first_version
            # what it covers may be where it was, and be recalled before or after it
            stays = own > after.cleared_version and bisect_left(now, own) == place
            first = own if stays else at[place]
            events.append(_restored(summary, put.write_id, f"{put.write_id}-{number}", first))
    left = _left(past, after, again)
    before, now = sorted([*before, *left]), sorted([*now, *left.values()])
    at = [*now, next_version]
    counted = continuation_of(past, before)
    if counted != continuation_of(after, now) or not entries_of_blocks(after).issubset(now):
        continued = renumbered(counted, lambda place: at[place - 1], among=range(1, len(at)))
        events.append(CompactionContinued(write_id=put.write_id, continuation=continued))
    return events


def _again(anew: ReplaceState, state: SessionState, events: Sequence[Event]) -> dict[int, int]:
    """Return the versions that the entries of *anew* get, by those that they have, where *events* follow *state*."""
    added = (version for version, event in enumerate(events, state.version + 1) if isinstance(event, EntryAdded))
    return dict(zip(anew.versions, added, strict=False))  # what is added after them is not of the past


def _renumbered(summary: Summary, again: Mapping[int, int]) -> Summary:
    """Return *summary* over the same entries, which were added *again*."""
    covered = ranges.ranges_of(again[version] for version in ranges.versions(summary.covered) if version in again)
    first = again.get(summary.first_version, summary.first_version)
    return replace(summary, covered=covered, first_version=first)


def _left(past: SessionState, after: SessionState, again: Mapping[int, int]) -> dict[int, int]:
    """Return the entries that have left the window of *past* and that blocks still name, with their versions now."""
    active = {entry.version for entry in past.window.entries}
    named = entries_of_blocks(past) - active
    if again:
        return {version: again[version] for version in named if version in again}
    if past.cleared_version != after.cleared_version:
        return {}
    stay = {entry.version for entry in after.window.entries}
    moved = min(active - stay, default=past.version + 1)
    return {version: version for version in named if version < moved}


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
