"""What a rebuild decides: the history since the last clear as a replay of it under another config ends. Pure.

Entries stay at their versions. Those that are in the window of the replay, and not in that of the session, return; the
compactions of the replay are recorded anew; what strategies had counted is what the replay counted. All of it is one
write, so that a reader sees the old window or the new one. Source: R-RBD-3.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, assert_never

from msgspec.structs import replace

from ledger.events import (
    CompactionContinued,
    Continuation,
    EntriesReturned,
    Event,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
    ReturnedEntry,
    StrategyProgress,
)
from ledger.events.limits import EVENTS_PER_APPEND
from ledger.session.continuation import counted_failures, counted_items, folded_json
from ledger.session.evolve import end_of_batch
from ledger.session.rebuild_commands import (
    AnswerRebuild,
    CompleteRebuild,
    FailRebuild,
    ReplayedCompaction,
    RequestRebuild,
)
from ledger.session.state import SessionState
from projections.memory_config import config
from projections.rebuilds import Rebuild
from projections.values import ranges

#: Of the entries that one event brings back.
_CHARACTERS: Final = 1_000_000
_ENTRIES: Final = 1_000


def running(state: SessionState, rebuild_id: str | None = None) -> Rebuild | None:
    """Return the rebuild that runs, if it is that with *rebuild_id* or none is named."""
    found = state.rebuild
    if found is None or found.status != "running" or not state.opened:
        return None
    return found if rebuild_id in {None, found.rebuild_id} else None


def decide(state: SessionState, command: RequestRebuild | AnswerRebuild | FailRebuild | CompleteRebuild) -> list[Event]:
    """Return the events of *command*; none if it is about a rebuild that does not run any more."""
    match command:
        case RequestRebuild():
            return _request(state, command)
        case AnswerRebuild(answered=answered):
            return [answered] if running(state, answered.rebuild_id) else []
        case FailRebuild(failed=failed):
            return [failed] if running(state, failed.rebuild_id) else []
        case CompleteRebuild():
            return _complete(state, command)
        case _:
            assert_never(command)


def _request(state: SessionState, command: RequestRebuild) -> list[Event]:
    """Return the request; none if the same rebuild runs. One under another config ends."""
    found, wanted = running(state), config.dump(command.config)
    if found is not None and found.config == wanted:
        return []
    return [
        *superseded(state, command.write_id, "another rebuild was asked for"),
        RebuildRequested(write_id=command.write_id, rebuild_id=command.rebuild_id, config=wanted),
    ]


def superseded(state: SessionState, write_id: str, detail: str) -> list[Event]:
    """Return the end of the rebuild that runs, because the session was changed in another way; none without one."""
    found = running(state)
    if found is None:
        return []
    return [RebuildFailed(write_id=write_id, rebuild_id=found.rebuild_id, reason="superseded", detail=detail)]


def _complete(state: SessionState, command: CompleteRebuild) -> list[Event]:
    """Return the whole change; none if the rebuild does not run any more, a failure if no write could hold it."""
    found = running(state, command.rebuild_id)
    if found is None:
        return []
    wanted, write_id = end_of_batch(command.wanted), command.write_id
    live = {summary.summary_id for summary in wanted.summaries.live}
    folded = {name for compaction in command.compactions for name in compaction.outcome.folds}
    events: list[Event] = [
        RebuildCompleted(
            write_id=write_id,
            rebuild_id=command.rebuild_id,
            config=found.config,
            retired=tuple(each.summary_id for each in state.summaries.live if each.summary_id not in live | folded),
            removed=len(command.removed),
            tasks=tuple(
                (compaction.request.compaction_id, compaction.task)
                for compaction in command.compactions
                if compaction.task
            ),
        )
    ]
    events += (EntriesReturned(write_id=write_id, entries=part) for part in _parts(command.returned))
    for compaction in command.compactions:
        events += _recorded(compaction, write_id, command.removed)
    events.append(CompactionContinued(write_id=write_id, continuation=_counted(wanted)))
    if len(events) > EVENTS_PER_APPEND:
        detail = f"{len(events):,} events, and one write can have {EVENTS_PER_APPEND:,}; clear the session first"
        return [RebuildFailed(write_id=write_id, rebuild_id=command.rebuild_id, reason="too_large", detail=detail)]
    return events


def _parts(entries: Iterable[ReturnedEntry]) -> Iterator[tuple[ReturnedEntry, ...]]:
    part: list[ReturnedEntry] = []
    size = 0
    for entry in entries:
        length = len(entry.content)
        if part and (size + length > _CHARACTERS or len(part) == _ENTRIES):
            yield tuple(part)
            part, size = [], 0
        part.append(entry)
        size += length
    if part:
        yield tuple(part)


def _recorded(compaction: ReplayedCompaction, write_id: str, removed: Collection[int]) -> list[Event]:
    """Return a compaction of the replay as events; the texts of models are in the log already."""
    covered = ranges.ranges_of(
        version for version in ranges.versions(compaction.outcome.covered) if version not in removed
    )
    return [
        replace(compaction.request, write_id=write_id, covered=covered),
        replace(compaction.outcome, write_id=write_id, covered=covered, outputs=()),
    ]


def _counted(wanted: SessionState) -> Continuation:
    """Return what strategies had counted, by versions, which stay."""
    counted = wanted.compactions
    return Continuation(
        items=counted_items(wanted.items),
        watermarks=counted.watermarks,
        failures=counted_failures(counted),
        progress=tuple(
            StrategyProgress(config=compaction.model_dump(mode="json"), folded=folded_json(folded))
            for compaction in wanted.config.compactions
            if (folded := wanted.progress_of(compaction.key)) is not None
        ),
    )
