"""Histories folded again under another config, against R-WIF-1 to R-WIF-10 and their vectors."""

from functools import cache

import pytest

from ledger.errors import SummaryMissing
from ledger.replay.what_if.config_replay import replay
from ledger.replay.what_if.recorded_answers import cache_of
from ledger.replay.what_if.replayed import Replayed
from ledger.session.commands import EditEntry, RemoveEntry
from ledger.session.views import stats_of, window_of
from projections.memory_config import config
from tests.support.driver import Driven, Scripted, exact


@cache
def recorded() -> Driven:
    """300 messages under the defaults, one batch each, summaries exactly at target."""
    return Driven({"profile": "memory_manager"}, Scripted(exact)).add("u a " * 150)


def what_if(raw: dict, **options) -> Replayed:
    return replay(recorded().events, config.load(raw), {}, on_miss="estimate", **options)


def runs(done: Replayed) -> list[str]:
    return [recorded().places(item.covered) for item in done.completed]


def numbers(done: Replayed) -> tuple[int, int]:
    stats = stats_of(done.state)
    return stats.active_entries, stats.total_tokens


def test_the_same_config_with_the_recorded_answers_is_the_record__V_WIF_1() -> None:
    """R-WIF-4, R-WIF-9, R-WIF-10, LAW-4."""
    history = recorded()
    done = replay(
        history.events, config.load({"profile": "memory_manager"}), cache_of(history.events), model="scripted"
    )
    assert runs(done) == ["1-91", "92-182", "183-273"]
    assert numbers(done) == (27, 1089)
    assert done.state.window == history.state.window
    live = [(record.key, record.covered, record.text, record.tokens) for record in done.state.summaries.live]
    assert live == [(record.key, record.covered, record.text, record.tokens) for record in history.state.summaries.live]


def test_a_smaller_threshold__V_WIF_2() -> None:
    done = what_if({"profile": "memory_manager", "max_entries": 50})
    assert runs(done) == ["1-41", "42-82", "83-123", "124-164", "165-205", "206-246", "247-287"], "at 51, 92, …, 297"
    assert numbers(done) == (13, 991)


@pytest.mark.parametrize(
    ("unit", "due", "blocks", "window"),
    [
        ("entry", 14, ["233-253", "254-274", "275-295"], (280, 300)),
        ("interaction", 7, ["171-212", "213-254", "255-296"], (259, 300)),
    ],
)
def test_rolling_blocks__V_WIF_3(unit: str, due: int, blocks: list[str], window: tuple[int, int]) -> None:
    """Interactions 86-106 are entries 171-212, and so on."""
    done = what_if({"profile": "rolling_interactions", "size": 21, "unit": unit})
    assert len(done.completed) == due
    assert [recorded().places(record.covered) for record in done.state.summaries.live] == blocks
    shown = sorted(recorded().added.index(entry.version) + 1 for entry in window_of(done.state).entries)
    assert (shown[0], shown[-1]) == window


def test_the_neuralyzer__V_WIF_4() -> None:
    done = what_if({"longTermMemoryId": "neuralyzer", "interactionThresholdQty": 30, "interactionKeep": 5})
    assert runs(done) == ["1-50", "51-100", "101-150", "151-200", "201-250"]
    assert numbers(done) == (50, 500)
    assert not any(item.outputs for item in done.completed)


def test_the_summarizer_keeps_one_summary__V_WIF_5() -> None:
    done = what_if({"long_term_memory_id": "summarizer"})
    assert runs(done) == [f"{40 * number + 1}-{40 * number + 40}" for number in range(7)]
    assert numbers(done)[0] == 20
    assert len(done.state.summaries.live) == 1


def test_windows_alone__V_WIF_6() -> None:
    shown = window_of(what_if({"memory_strategy_id": "max_tokens", "memory_max_tokens": 1000}).state)
    assert [recorded().added.index(entry.version) + 1 for entry in shown.entries] == list(range(201, 301))
    sliding = {"type": "sliding_window", "max_tokens": 1000, "compression_threshold": 0.8, "preserve": []}
    slid = window_of(what_if({"window": sliding}).state)
    assert [recorded().added.index(entry.version) + 1 for entry in slid.entries] == list(range(221, 301))
    assert slid.tokens == 800


def test_everything__V_WIF_7() -> None:
    assert numbers(what_if({"profile": "none"})) == (300, 3000)


def test_an_unanswered_request_is_an_error_unless_it_may_be_estimated() -> None:
    """R-WIF-5."""
    with pytest.raises(SummaryMissing) as missing:
        replay(recorded().events, config.load({"profile": "memory_manager", "max_entries": 50}), {})
    assert len(missing.value.request_hash) == 64


def test_without_a_cache_the_heuristic_writes() -> None:
    """R-SUM-9."""
    done = replay(recorded().events, config.load({"profile": "memory_manager"}))
    assert {item.method for item in done.completed} == {"heuristic"}


def test_the_same_again_gives_the_same_and_changes_nothing() -> None:
    """R-WIF-6, LAW-5."""
    before = repr(recorded().events[-1]), len(recorded().events)
    first, other = (what_if({"profile": "memory_manager", "max_entries": 20}) for _ in range(2))
    assert first == other
    assert (repr(recorded().events[-1]), len(recorded().events)) == before


def test_a_prefix_and_a_history_without_some_entries_can_be_replayed() -> None:
    """R-WIF-7."""
    events = recorded().events
    short = replay(events[:51], config.load({"profile": "none"}))
    assert len(short.state.window.entries) == sum(event.type == "entry.added" for event in events[:51])
    left_out = replay(events, config.load({"profile": "none"}), without=["e7", "e300"])
    assert {"e7", "e300"}.isdisjoint(entry.entry_id for entry in left_out.state.window.entries)
    assert len(left_out.state.window.entries) == 298


def test_inputs_are_replayed_and_recorded_decisions_are_not() -> None:
    """R-WIF-2: edits, removals and clears; an edit of what the replay has covered by then changes nothing."""
    history = Driven({"max_entries": 5, "recent_window": 2, "min_entries_to_compress": 1}).add("u a u a u a u")
    history.do(EditEntry(write_id="x", entry_id="e7", content="otherwise", tokens=3, tokenizer="caller"))
    history.do(RemoveEntry("y", "e6"))
    done = replay(history.events, config.load({"profile": "none"}))
    assert [entry.content for entry in done.state.window.entries][-1] == "otherwise"
    assert [entry.entry_id for entry in done.state.window.entries] == ["e1", "e2", "e3", "e4", "e5", "e7"]
    small = {"profile": "memory_manager", "max_entries": 1, "recent_window": 0, "min_entries_to_compress": 1}
    assert replay(history.events, config.load(small)).state.version >= 0


def test_recorded_counts_are_used_unless_a_recount_is_asked_for() -> None:
    """R-WIF-6, R-TOK-4."""
    events = recorded().events
    assert replay(events, config.load({"profile": "none"})).state.window.tokens == 3000
    again = replay(events, config.load({"profile": "none", "tokenizer": "approximate"}), recount=True)
    assert again.state.window.tokens != 3000
