"""Strategies and logs that break a law on purpose: each check must reject them, else it checks nothing."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.errors import SummaryMissing
from ledger.events import CompactionCompleted, EntryAdded, RecordedEvent
from ledger.replay.what_if.config_replay import Replay
from ledger.session.evolve import SESSION
from projections.entries import Entry
from projections.strategies import COMPACTIONS, WINDOWS
from projections.values import ranges
from tests.laws.test_replays import check_every_entry, check_gain, check_replay, check_units_taken
from tests.laws.test_windows import check_units_shown
from tests.support.driver import Driven
from tests.support.histories import Step, happened

SMALL = {"type": "token_threshold", "max_entries": 5, "recent_window": 3, "min_entries_to_compress": 1}
CONFIG = {"window": {"type": "full"}, "compactions": [SMALL]}
TALK = [Step("add", f"[{item}]") for item in ["u20", "a20", "c1:20", "r1:20", "a20", "u20", "a20", "u20", "a20"]]


def a_session() -> Driven:
    session = happened(CONFIG, TALK)
    assert session.completed
    return session


def changed(events: Sequence[RecordedEvent], **fields: Any) -> list[RecordedEvent]:
    """Return *events* with their first completed compaction changed."""
    at = next(at for at, event in enumerate(events) if isinstance(event.payload, CompactionCompleted))
    broken = replace(events[at], payload=replace(events[at].payload, **fields))
    return [*events[:at], broken, *events[at + 1 :]]


def test_rejects_a_plan_that_depends_on_how_often_it_was_asked_for__LAW_4(monkeypatch: pytest.MonkeyPatch) -> None:
    check_replay(a_session(), CONFIG)
    real, asked = COMPACTIONS["token_threshold"], []

    def plan(*args: Any) -> Any:
        asked.append(args)
        return real.plan(*args) if len(asked) > 8 else None

    monkeypatch.setitem(COMPACTIONS, "token_threshold", replace(real, plan=plan))
    session = a_session()
    with pytest.raises((AssertionError, SummaryMissing)):
        check_replay(session, CONFIG)


@pytest.mark.parametrize("step", [Step("edit"), Step("remove"), Step("clear")])
def test_rejects_a_replay_that_does_not_note_what_became_of_an_entry__LAW_4(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = happened({"profile": "none"}, [*TALK, step])
    check_replay(session, {"profile": "none"})

    def apply(replay: Replay, event: RecordedEvent) -> None:
        replay._state = SESSION.evolve(replay._state, event)
        if isinstance(event.payload, EntryAdded):
            replay._entries[event.version] = replay._state.window.entries.last

    monkeypatch.setattr(Replay, "_apply", apply)
    with pytest.raises(AssertionError):
        check_replay(session, {"profile": "none"})


def test_rejects_a_window_that_shows_results_without_their_calls__LAW_9(monkeypatch: pytest.MonkeyPatch) -> None:
    session = happened({"profile": "none"}, TALK)
    check_units_shown(session)
    real = WINDOWS["full"]

    def window(*args: Any) -> Any:
        shown = real.window(*args)
        return replace(shown, items=tuple(item for item in shown.items if getattr(item, "kind", "") != "tool_call"))

    monkeypatch.setitem(WINDOWS, "full", replace(real, window=window))
    with pytest.raises(AssertionError):
        check_units_shown(session)


def test_rejects_a_window_that_hides_an_open_call__LAW_9(monkeypatch: pytest.MonkeyPatch) -> None:
    session = happened({"profile": "none"}, [Step("add", "[u9 c1:9]")])
    check_units_shown(session)
    real = WINDOWS["full"]
    monkeypatch.setitem(
        WINDOWS, "full", replace(real, window=lambda *args: replace(real.window(*args), items=(), tokens=0))
    )
    with pytest.raises(AssertionError):
        check_units_shown(session)


def takes_the_oldest(count: int, real: Any) -> Any:
    """Return a plan that counts entries and knows no units."""

    def plan(config: Any, state: Any, trigger: Any) -> Any:
        planned = real.plan(config, state, trigger)
        if planned is None:
            return None
        entries: list[Entry] = list(state.window.entries)[:count]
        covered = ranges.ranges_of(entry.version for entry in entries)
        return replace(planned, covered=covered, tokens=sum(entry.tokens for entry in entries))

    return replace(real, plan=plan)


def test_rejects_a_compaction_that_splits_a_unit__LAW_9(monkeypatch: pytest.MonkeyPatch) -> None:
    check_units_taken(a_session().events)
    monkeypatch.setitem(COMPACTIONS, "token_threshold", takes_the_oldest(3, COMPACTIONS["token_threshold"]))
    broken = a_session()
    with pytest.raises(AssertionError):
        check_units_taken(broken.events)


def test_rejects_a_compaction_that_takes_an_open_call__LAW_9(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [Step("add", "[u9 a9 u9 a9 u9 c1:9]")]
    check_units_taken(happened(CONFIG, steps).events)
    monkeypatch.setitem(COMPACTIONS, "token_threshold", takes_the_oldest(6, COMPACTIONS["token_threshold"]))
    broken = happened(CONFIG, steps)
    with pytest.raises(AssertionError):
        check_units_taken(broken.events)


def test_rejects_an_entry_that_two_compactions_cover__LAW_10() -> None:
    session = a_session()
    check_every_entry(session)
    session.record([replace(session.completed[0], write_id="again", folds=(), summary_id="other")])
    with pytest.raises(AssertionError):
        check_every_entry(session)


def test_rejects_an_entry_that_left_without_a_word__LAW_10() -> None:
    session = a_session()
    session.state = replace(
        session.state, window=replace(session.state.window, entries=type(session.state.window)().entries)
    )
    with pytest.raises(AssertionError):
        check_every_entry(session)


def test_rejects_a_summary_as_long_as_what_it_replaces__LAW_14() -> None:
    events = a_session().events
    check_gain(events)
    first = next(event.payload for event in events if isinstance(event.payload, CompactionCompleted))
    with pytest.raises(AssertionError):
        check_gain(changed(events, tokens_after=first.tokens_before))


def test_rejects_an_erasure_of_more_tokens_than_there_were__LAW_14() -> None:
    config = {
        "window": {"type": "full"},
        "compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}],
    }
    events = happened(config, TALK).events
    check_gain(events)
    with pytest.raises(AssertionError):
        check_gain(changed(events, tokens_before=1))
