"""Laws of compactions whose results come late, or not at all, over the registry. Source: strategies §13."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    EntryEdited,
    EntryRemoved,
    RecordedEvent,
    SessionCleared,
)
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from projections.projection import Projection
from projections.strategies import COMPACTIONS
from projections.values import ranges
from projections.window import ActiveEntries
from tests.support.driver import Driven, Scripted, raises
from tests.support.examples import up_to
from tests.support.histories import INTERRUPTED, STEPS, Step, configs, happened, mixed
from tests.support.interrupted_histories import interrupted

EXAMPLES = up_to(25)
each_compaction = pytest.mark.parametrize("kind", sorted(COMPACTIONS))
OUTCOMES = (CompactionCompleted, CompactionFailed, CompactionDiscarded)


def without_failures(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Return *events* less every compaction that failed or was discarded, request and outcome."""
    removed = {
        event.payload.compaction_id
        for event in events
        if isinstance(event.payload, CompactionFailed | CompactionDiscarded)
    }
    return [event for event in events if getattr(event.payload, "compaction_id", None) not in removed]


def lasting(state: SessionState) -> SessionState:
    """Return *state* less the failure counters and what says how far the log went."""
    state = end_of_batch(state)
    return replace(
        state, version=0, writes=0, write_id="", updated_us=0, compactions=replace(state.compactions, failures=())
    )


def check_no_trace(events: Sequence[RecordedEvent], projection: Projection[SessionState] = SESSION) -> None:
    assert lasting(projection.fold(events)) == lasting(projection.fold(without_failures(events)))


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=INTERRUPTED)
def test_a_failed_or_discarded_compaction_leaves_only_its_count__LAW_11(kind: str, data: Any, steps: list) -> None:
    config = data.draw(configs(compaction=kind))
    check_no_trace(interrupted(config, steps).events)
    check_no_trace(happened(config, steps_of_one_hand(steps), mixed).events)


def steps_of_one_hand(steps: list[Step]) -> list[Step]:
    return [step for step in steps if step.kind not in {"answer", "erase"}]


def test_rejects_a_fold_that_empties_the_window_on_a_failure__LAW_11() -> None:
    """Negative control."""

    def evolve(state: SessionState, event: RecordedEvent) -> SessionState:
        after = SESSION.evolve(state, event)
        return replace(after, window=ActiveEntries()) if isinstance(event.payload, CompactionFailed) else after

    threshold = {"max_entries": 4, "recent_window": 0, "min_entries_to_compress": 1}
    events = Driven(threshold, Scripted(raises)).add("u a u a u").events
    assert isinstance(events[-1].payload, CompactionFailed)
    check_no_trace(events)
    with pytest.raises(AssertionError):
        check_no_trace(events, Projection("careless", 1, SESSION.initial, evolve))


def check_late_results(events: Sequence[RecordedEvent]) -> int:
    """Assert that exactly the results that came too late were discarded; return how many did."""
    waiting: dict[str, CompactionRequested] = {}
    late: set[str] = set()
    count = 0
    for event in events:
        payload = event.payload
        if isinstance(payload, OUTCOMES) and payload.compaction_id in waiting:
            del waiting[payload.compaction_id]
            if payload.compaction_id in late:
                assert isinstance(payload, CompactionDiscarded)
                count += 1
            elif isinstance(payload, CompactionDiscarded):
                assert payload.reason == "evicted"
        match payload:
            case CompactionRequested():
                waiting[payload.compaction_id] = payload
            case SessionCleared():
                late.update(waiting)
            case EntryEdited(entry_version=version) | EntryRemoved(entry_version=version):
                late.update(item for item, asked in waiting.items() if ranges.contains(asked.covered, version))
            case CompactionCompleted(effect="replace" | "erase"):
                late.update(item for item, asked in waiting.items() if is_taken(asked, payload))
    return count


def is_taken(asked: CompactionRequested, done: CompactionCompleted) -> bool:
    """Tell whether *done* took away an entry or a summary that *asked* would replace."""
    covers = set(ranges.versions(asked.covered)) & set(ranges.versions(done.covered))
    return asked.effect == "replace" and bool(covers or set(asked.folds) & set(done.folds))


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=INTERRUPTED)
def test_a_change_between_request_and_result_ends_in_discarded__LAW_12(kind: str, data: Any, steps: list) -> None:
    """R-CMP-5; and nothing else is discarded, but blocks that were evicted (R-001-6)."""
    check_late_results(interrupted(data.draw(configs(compaction=kind)), steps).events)


@pytest.mark.parametrize("between", ["clear", "edit", "remove", "erase", "import"])
def test_each_kind_of_change_makes_a_result_late__LAW_12(between: str) -> None:
    """So that the law above is not kept by histories in which nothing comes between."""
    config = {"max_entries": 4, "recent_window": 0, "min_entries_to_compress": 1}
    asked = [Step("add", "[u9 a9 u9]"), Step("add", "[a9 u9 a9]")]
    session = interrupted(config, [*asked, Step(between), Step("answer")])
    assert check_late_results(session.events) == 1
    assert isinstance(session.events[-1].payload, CompactionDiscarded)


def test_rejects_a_result_that_is_taken_after_an_edit__LAW_12() -> None:
    """Negative control."""
    config = {"max_entries": 4, "recent_window": 0, "min_entries_to_compress": 1}
    steps = [Step("add", "[u9 a9 u9 a9 u9]"), Step("answer")]
    events = interrupted(config, steps, "short").events
    done = events[-1]
    edited = EntryEdited(
        write_id="w", entry_id="e1", entry_version=2, content="x", tokens=1, tokens_before=9, tokenizer="caller"
    )
    assert isinstance(done.payload, CompactionCompleted)
    check_late_results(events)
    with pytest.raises(AssertionError):
        check_late_results([*events[:-1], replace(done, payload=edited), done])


def check_requests(events: Sequence[RecordedEvent]) -> None:
    running: dict[str, str] = {}
    for event in events:
        payload = event.payload
        if isinstance(payload, CompactionRequested):
            assert payload.key not in running
            running[payload.key] = payload.compaction_id
        elif isinstance(payload, OUTCOMES) and getattr(payload, "strategy", "") != "imported":
            assert running.pop(payload.key) == payload.compaction_id


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=INTERRUPTED)
def test_a_key_has_one_open_request_and_an_outcome_has_one_request__LAW_13(kind: str, data: Any, steps: list) -> None:
    check_requests(interrupted(data.draw(configs(compaction=kind)), steps).events)


@EXAMPLES
@given(config=configs(), steps=STEPS)
def test_holds_where_each_request_is_answered_at_once__LAW_13(config: dict, steps: list) -> None:
    check_requests(happened(config, steps, mixed).events)


def test_rejects_a_second_request_and_an_outcome_of_none__LAW_13() -> None:
    """Negative control."""
    config = {"max_entries": 4, "recent_window": 0, "min_entries_to_compress": 1}
    events = happened(config, [Step("add", "[u9 a9 u9 a9 u9]")]).events
    asked = next(event for event in events if isinstance(event.payload, CompactionRequested))
    check_requests(events)
    for broken in ([*events[: asked.version], asked], [*events, events[-1]]):
        with pytest.raises((AssertionError, KeyError)):
            check_requests(broken)
