"""Laws of what goes out and comes back, of clocks, and of nothing being lost. Source: strategies §13."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import CompactionCompleted, EntryAdded, Event
from ledger.session.evolve import end_of_batch
from ledger.session.views import window_of
from projections.log.history import HISTORY
from projections.rendering import context_text
from projections.strategies import COMPACTIONS, WINDOWS
from projections.values.ranges import versions
from tests.support.driver import Driven
from tests.support.examples import up_to
from tests.support.histories import STEPS, Step, configs, exported, happened, hints, mixed, restore

EXAMPLES = up_to(25)
each_window = pytest.mark.parametrize("kind", sorted(WINDOWS))
each_compaction = pytest.mark.parametrize("kind", sorted(COMPACTIONS))
_DATES = re.compile(r"^\[\d{4}-\d\d-\d\d - \d{4}-\d\d-\d\d\]$", re.MULTILINE)


@up_to(200)
@given(config=configs(), steps=STEPS)
def test_an_exported_state_that_was_imported_exports_the_same__LAW_22(config: dict, steps: list) -> None:
    """R-000-15."""
    session = happened(config, steps, mixed)
    state = exported(session)
    other = Driven(config)
    restore(other, state)
    assert exported(other) == state
    without = Driven({"profile": "none"})  # strategies that count nothing have nothing to go on from
    restore(without, state)
    assert exported(without) == {name: value for name, value in state.items() if name != "continuation"}
    restore(session, state)
    assert exported(session) == state


BLOCKS = {"type": "rolling_blocks", "size": 2, "unit": "entry"}
THRESHOLD = {"type": "token_threshold", "max_entries": 5, "recent_window": 2, "min_entries_to_compress": 1}
NEURALYZER = {"type": "neuralyzer", "interaction_threshold_qty": 2, "interaction_keep": 1}


@pytest.mark.parametrize(
    ("others", "after"),
    [
        pytest.param([THRESHOLD], [], id="covered"),
        pytest.param([NEURALYZER], [], id="erased"),
        pytest.param([{"type": "progressive", "context_window": 500}], [], id="folded"),
        pytest.param([], [Step("remove", place=0.15), Step("remove", place=0.2)], id="removed"),
    ],
)
def test_what_lies_under_a_block_may_leave_by_other_ways__LAW_22(others: list[dict], after: list[Step]) -> None:
    """R-CMP-2: its summary hides nothing, and comes back as one that hides nothing."""
    steps = [Step("add", "[u90]"), Step("add", "[a90]")] * 4
    config = {"window": {"type": "full"}, "compactions": [BLOCKS, *others]}
    session = happened(config, [*steps, *after])
    before = exported(session)
    other = Driven(config)
    restore(other, before)
    assert exported(other) == before
    stored = [(summary.text, summary.overlay) for summary in end_of_batch(session.state).summaries.live]
    assert sorted(stored) == sorted(
        (record.text, record.overlay) for record in end_of_batch(other.state).summaries.live
    )
    assert [past_entry.status for past_entry in HISTORY.fold(other.events).current()] == [
        past_entry.status for past_entry in HISTORY.fold(session.events).current() if past_entry.status != "removed"
    ]


def timeless(event: Event) -> Event:
    """Return *event* less the client's times."""
    match event:
        case EntryAdded():
            return replace(event, created_at=None)
        case CompactionCompleted():
            return replace(event, created_at=None, starts_at=None, ends_at=None)
        case _:
            return event


def shown(session: Driven) -> str:
    return _DATES.sub("", context_text(window_of(session.state, hints(session))))


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[list[Step], list[Step]]:
    """Return the same steps twice, their days permuted."""
    steps = draw(STEPS)
    days = draw(st.permutations([step.day for step in steps]))
    return steps, [step._replace(day=day) for step, day in zip(steps, days, strict=True)]


def check_clocks(config: dict, twice: tuple[list[Step], list[Step]]) -> None:
    first, other = (happened(config, steps, mixed) for steps in twice)
    assert [timeless(event.payload) for event in first.events] == [timeless(event.payload) for event in other.events]
    assert shown(first) == shown(other)


@each_window
@EXAMPLES
@given(data=st.data(), twice=shuffled())
def test_under_any_window_client_times_change_only_dates__LAW_19(kind: str, data: Any, twice: tuple) -> None:
    """R-GEN-3."""
    check_clocks(data.draw(configs(window=kind)), twice)


@each_compaction
@EXAMPLES
@given(data=st.data(), twice=shuffled())
def test_under_any_compaction_client_times_change_only_dates__LAW_19(kind: str, data: Any, twice: tuple) -> None:
    """R-GEN-3: also not a request hash (R-SUM-6)."""
    check_clocks(data.draw(configs(compaction=kind)), twice)


def test_rejects_an_order_by_the_clients_clock__LAW_19(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""

    def window(config: Any, state: Any, answers: Any) -> Any:
        found = WINDOWS["rolling"].window(WINDOWS["rolling"].config(), state, answers)
        return replace(found, items=tuple(sorted(found.items, key=lambda item: item.created_at)))

    steps = [Step("add", "[u9 a9]", day=1), Step("add", "[u9 a9]", day=2)]
    twice = (steps, [step._replace(day=3 - (step.day or 0)) for step in steps])
    check_clocks({"profile": "none"}, twice)
    monkeypatch.setitem(WINDOWS, "full", replace(WINDOWS["full"], window=window))
    with pytest.raises(AssertionError):
        check_clocks({"profile": "none"}, twice)


def check_nothing_lost(session: Driven) -> None:
    history = HISTORY.fold(session.events)
    created = {summary.summary_id: summary for summary in history.summaries}
    lineage: set[int] = set()
    waiting = list(end_of_batch(session.state).summaries.live)
    while waiting:
        summary = waiting.pop()
        lineage.update(versions(summary.covered))
        waiting += [created[folded] for folded in summary.folds]
    seen = {entry.version for entry in window_of(session.state).entries}
    there = {past_entry.version for past_entry in history.current() if past_entry.status != "removed"}
    assert there == seen | (lineage & there)
    assert not seen & lineage


@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_under_progressive_each_entry_is_shown_or_in_the_summary__LAW_27(data: Any, steps: list) -> None:
    """R-004-3, http W-44: one live summary, whose lineage has all that left."""
    session = happened(data.draw(configs(window="full", compaction="progressive")), steps, mixed)
    assert len(session.state.summaries.live) <= 1
    check_nothing_lost(session)


def test_rejects_a_strategy_that_erases__LAW_27(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    config = {"window": {"type": "full"}, "compactions": [{"type": "progressive", "context_window": 400}]}
    steps = [Step("add", "[u100 a100]")] * 5
    check_nothing_lost(happened(config, steps))
    real = COMPACTIONS["progressive"]

    def plan(*args: Any) -> Any:
        planned = real.plan(*args)
        return planned and replace(planned, action="erase", effect="erase", folds=())

    monkeypatch.setitem(COMPACTIONS, "progressive", replace(real, plan=plan))
    with pytest.raises(AssertionError):
        check_nothing_lost(happened(config, steps))
