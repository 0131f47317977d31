"""The memory manager of seed 000 against strategies §7."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from ledger.errors import NotEnoughEntries
from ledger.events import CompactionCompleted, CompactionFailed, CompactionRequested
from ledger.session.views import plan_automatic, plan_manual, stats_of, window_of
from projections.prompts import transcript
from projections.strategies.token_threshold import DEFAULT_PROMPT, eligible
from projections.values import ranges
from tests.support.driver import Driven, Scripted, raises
from tests.support.specification import given

SMALL = {"max_entries": 1000, "max_tokens": 100, "recent_window": 3, "min_entries_to_compress": 2}


def alternating(entries: int) -> str:
    return " ".join("ua"[number % 2] for number in range(entries))


def runs(session: Driven) -> list[tuple[int, str, int]]:
    """Return, of each completed compaction, how many entries there were, which it covers, and its target."""
    asked = [event.payload for event in session.events if isinstance(event.payload, CompactionRequested)]
    counts = session.entries_at(CompactionCompleted)
    return [
        (count, session.places(item.covered), item.target_tokens) for count, item in zip(counts, asked, strict=True)
    ]


def total(session: Driven) -> int:
    return stats_of(session.state).total_tokens


def test_a_hundred_entries_are_within_the_limits__V_000_1() -> None:
    """R-000-1: what is counted are active entries and live summaries."""
    session = Driven().add(alternating(100))
    assert not runs(session)
    assert total(session) == 1000


def test_the_101st_entry_compacts_the_first_91__V_000_2() -> None:
    """R-000-2."""
    session = Driven().add(alternating(101))
    (done,) = session.completed
    assert session.places(done.covered) == "1-91"
    assert (done.tokens_before, done.tokens_after, done.tokens_before - done.tokens_after) == (910, 273, 637)
    assert not done.over_target
    stats = stats_of(session.state)
    assert (stats.total_entries, stats.active_entries, stats.compressed_entries, stats.summaries) == (101, 10, 91, 1)
    assert (stats.active_tokens, stats.total_tokens, stats.over_budget) == (100, 373, False)


def test_a_history_of_300_entries_compacts_three_times__V_000_3() -> None:
    session = Driven()
    totals = {entries: total(session.add("u")) for entries in range(1, 301)}
    assert runs(session) == [(101, "1-91", 273), (192, "92-182", 273), (283, "183-273", 273)]
    assert (totals[191], totals[192], totals[283], totals[300]) == (1273, 646, 919, 1089)
    assert stats_of(session.state).active_entries == 27


@pytest.mark.parametrize(("most", "recent"), [(5, 0), (10, 3), (20, 19), (1, 0), (12, 6)])
def test_under_the_count_trigger_each_run_covers_the_same_number__V_000_4(most: int, recent: int) -> None:
    """With M and R the k-th run is at n = M + 1 + (k - 1)(M + 1 - R) and covers M + 1 - R."""
    settings = {"max_entries": most, "recent_window": recent, "min_entries_to_compress": 1}
    session = Driven(settings).add(alternating(100))
    step = most + 1 - recent
    assert session.entries_at(CompactionCompleted) == list(range(most + 1, 101, step))
    assert {ranges.size(done.covered) for done in session.completed} == {step}


def test_exactly_the_budget_is_not_over_it__V_000_5() -> None:
    session = Driven(SMALL).add(alternating(10))
    assert (total(session), runs(session), stats_of(session.state).over_budget) == (100, [], False)
    assert runs(session.add("u"))


def test_summaries_that_are_never_folded_end_in_a_thrash__V_000_6_and_V_000_7() -> None:
    session = Driven(SMALL)
    totals = {}
    for entries in range(1, 33):
        totals[entries] = total(session.add("u"))
    assert [(*run, totals[run[0]]) for run in runs(session)] == [
        (11, "1-8", 24, 54),
        (16, "9-13", 15, 69),
        (20, "14-17", 12, 81),
        (22, "18-19", 6, 87),
        (24, "20-21", 6, 93),
        (26, "22-23", 6, 99),
        (28, "24-25", 6, 105),
        (30, "26-27", 6, 111),
        (32, "28-29", 6, 117),
    ]
    assert totals[25] == 103


def test_over_with_too_few_eligible_entries_is_reported_and_nothing_is_recorded__V_000_6() -> None:
    """R-000-4."""
    session = Driven(SMALL).add(alternating(24))
    before = len(session.events)
    session.add("u")
    assert (len(session.events), stats_of(session.state).over_budget) == (before + 1, True)
    assert [entry.entry_id for entry in eligible(session.state.config.compactions[0], session.state)] == ["e22"]


def test_a_bound_on_summaries_cures_the_thrash() -> None:
    """R-000-7: the oldest summaries are folded into the next compaction until the rest fits."""
    session = Driven({**SMALL, "max_summary_tokens": 30})
    totals = [total(session.add("u")) for _ in range(200)]
    assert max(totals) <= 110
    assert max(summary.tokens for summary in session.state.summaries.live) < 100
    gaps = [later - sooner for sooner, later in pairwise(session.entries_at(CompactionCompleted))]
    assert min(gaps) >= 3
    assert any(done.folds for done in session.completed)


def test_folding_takes_the_oldest_summaries_until_the_rest_fits() -> None:
    """R-000-7, R-GEN-13: the new summary stands where the oldest one it folds did."""
    session = Driven({"max_entries": 4, "recent_window": 0, "min_entries_to_compress": 1, "max_summary_tokens": 20})
    session.add(alternating(15))
    assert [done.folds for done in session.completed] == [(), (), (session.completed[0].summary_id,)]
    first, second, third = session.completed
    assert third.tokens_before == 50 + first.tokens_after
    assert [summary.summary_id for summary in session.state.summaries.live] == [third.summary_id, second.summary_id]
    assert third.first_version == first.first_version == session.added[0]
    assert session.jobs[2].request.folded == (first.text,)


def test_a_bound_of_zero_keeps_one_summary() -> None:
    session = Driven({"max_entries": 4, "recent_window": 0, "min_entries_to_compress": 1, "max_summary_tokens": 0})
    session.add(alternating(30))
    assert len(session.state.summaries.live) == 1
    assert session.state.summaries.live[0].first_version == session.added[0]


def test_an_entry_beyond_the_budget_waits_for_enough_eligible_ones__V_000_8() -> None:
    session = Driven().add("u60000")
    for _ in range(13):
        session.add("a")
        assert stats_of(session.state).over_budget
        assert not runs(session)
    session.add("u")
    assert runs(session) == [(15, "1-5", 18012)]
    assert (session.completed[0].tokens_before, total(session)) == (60040, 18112)


def test_without_auto_compress_only_a_caller_compacts__V_000_9() -> None:
    """R-000-5."""
    session = Driven({"auto_compress": False}).add(alternating(101))
    assert not runs(session)
    assert stats_of(session.state).over_budget
    assert session.places(session.compress().covered) == "1-91"
    with pytest.raises(NotEnoughEntries) as refused:
        session.compress()
    assert (refused.value.code, refused.value.eligible, refused.value.needed) == ("not_enough_entries", 0, 5)


def test_a_caller_may_force_a_compaction_below_the_limit_with_one_entry() -> None:
    """R-000-5."""
    session = Driven({"recent_window": 2}).add(alternating(6))
    with pytest.raises(NotEnoughEntries):
        session.compress()
    assert session.places(session.compress(force=True).covered) == "1-4"
    assert session.jobs[-1].asked.reasons == ("manual",)
    with pytest.raises(NotEnoughEntries) as refused:
        session.compress(force=True)
    assert refused.value.needed == 1


def test_a_cut_inside_a_unit_moves_to_before_it__V_000_10() -> None:
    """R-GEN-10."""
    session = Driven().add(f"a {alternating(89)} c1 r1 {alternating(9)}")
    assert runs(session) == [(101, "1-90", 270)]
    assert (stats_of(session.state).active_entries, total(session)) == (11, 380)


def test_what_was_said_before_a_call_in_another_write_stays_with_it__V_000_10() -> None:
    """R-GEN-8, R-GEN-10."""
    session = Driven().add(f"{alternating(90)} c1 r1 {alternating(9)}")
    assert runs(session) == [(101, "1-89", 267)]
    assert (stats_of(session.state).active_entries, total(session)) == (12, 387)


def test_a_raising_callback_fails_or_is_replaced_by_the_heuristic__V_000_11() -> None:
    """R-000-10."""
    session = Driven(summarizer=Scripted(raises)).add(alternating(101))
    assert (session.completed, stats_of(session.state).active_entries) == ([], 101)
    assert isinstance(session.events[-1].payload, CompactionFailed)
    session = Driven({"maxEntries": 100, "on_failure": "heuristic"}, Scripted(raises)).add(alternating(101))
    (done,) = session.completed
    assert (session.places(done.covered), done.method) == ("1-91", "heuristic")
    assert done.error == "error: the summarizer raised RuntimeError"


def test_without_recent_window_everything_is_covered__V_000_12() -> None:
    session = Driven({"recent_window": 0, "max_entries": 5, "min_entries_to_compress": 5}).add(alternating(6))
    assert runs(session) == [(6, "1-6", 18)]
    assert not session.state.window.entries


@pytest.mark.parametrize(
    ("notation", "covered"),
    [
        ("s u a u", "2-3"),
        ("i u a u", "2-3"),
        ("u c1 a x q", "1, 4"),
        ("u a c1 x q", "1, 4"),
        ("u c1 u a a", "1-4"),
        ("u c1 c2 r1 r2 a", "1-5"),
        ("u c1 c2 r1 a x", "1, 5"),
        ("u c1 a r1", "1"),
    ],
)
def test_pinned_entries_open_calls_and_units_in_the_recent_window_stay(notation: str, covered: str) -> None:
    """R-000-3, R-GEN-7, R-GEN-9, R-GEN-10."""
    session = Driven({"auto_compress": False, "recent_window": 1}).add(notation)
    assert session.places(plan_manual(session.state, None, force=True).covered) == covered


def test_a_late_result_in_the_recent_window_keeps_its_whole_unit() -> None:
    """R-GEN-10: every unit that the moved cut meets moves it further."""
    session = given({"auto_compress": False, "recent_window": 1}, "u c1 c2 u a c3 u r3 r2")
    plan = plan_manual(session.state, None, force=True)
    assert plan.covered == ((2, 2),)


def test_all_limits_that_were_exceeded_are_recorded() -> None:
    """R-CMP-1, R-000-3."""
    session = given({"max_entries": 2, "max_tokens": 25, "recent_window": 0, "min_entries_to_compress": 1})
    assert plan_automatic(session.add("u a").state, session.state.config.compactions[0]) is None
    assert plan_automatic(session.add("u").state, session.state.config.compactions[0]).reasons == ("tokens", "entries")


def test_a_summary_above_its_target_is_accepted_and_flagged() -> None:
    """R-000-6."""
    (done,) = Driven(summarizer=Scripted("the " * 500)).add(alternating(101)).completed
    assert (done.tokens_after, done.over_target) == (500, True)


def test_the_target_is_at_least_one_token() -> None:
    """R-000-6."""
    session = given({"recent_window": 0}, "u0 a0 u0")
    assert plan_manual(session.state, None, force=True).target_tokens == 1


def test_a_summary_has_the_fields_of_seed_000() -> None:
    """R-000-8; the config field is the inverse direction of the ratio."""
    session = Driven({"max_entries": 5, "recent_window": 1, "compression_ratio": 0.25})
    session.add("u", created_at=datetime(2024, 2, 3, tzinfo=UTC))
    session.add("a", created_at=datetime(2024, 2, 1, tzinfo=UTC)).add(alternating(4))
    (summary,) = session.state.summaries.live
    assert session.places(summary.covered) == "1-5"
    assert (summary.tokens_before, summary.tokens, summary.entry_count) == (50, 12, 5)
    assert summary.compression_ratio == 50 / 12
    assert summary.starts_at == session.events[session.added[2] - 1].recorded_at
    assert summary.ends_at == datetime(2024, 2, 3, tzinfo=UTC)
    assert summary.created_at == session.events[summary.version - 1].recorded_at


def test_the_default_prompt_is_the_seeds_text_with_the_transcript_in_it() -> None:
    """R-000-11."""
    session = Driven({"max_entries": 5, "recent_window": 1}).add(alternating(6))
    (message,) = session.summarizer.asked[0].messages
    assert message.text == DEFAULT_PROMPT.replace("{content}", transcript(session.jobs[0].request.entries))
    assert message.text.startswith("Summarize the following conversation, preserving:\n1. Key topics discussed\n")
    assert message.text.endswith("informative.\nUser: u 1\nAssistant: a 2\nUser: u 3\nAssistant: a 4\nUser: u 5")


def test_the_window_is_the_summaries_and_what_is_still_active() -> None:
    """R-WIN-1, R-WIN-2."""
    session = Driven({"max_entries": 4, "recent_window": 1}).add("s u a u a u a u a u a u")
    window = window_of(session.state)
    assert [type(item).__name__ for item in window.items] == ["Entry", "Summary", "Summary", "Entry"]
    assert window.tokens == total(session)


@pytest.mark.parametrize(
    ("data", "metadata", "stays"),
    [
        ({"thinking": [{"type": "thinking"}]}, None, True),
        (None, {"end_turn": False}, True),
        (None, None, False),
    ],
)
def test_the_newest_answer_stays_while_it_may_go_on(data: object, metadata: object, stays: bool) -> None:
    """R-GEN-8: what would come then is nothing that a provider takes without its thinking."""
    session = Driven({"auto_compress": False, "recent_window": 0}).add("u")
    session.add("a", data=data, metadata=metadata)
    assert session.places(plan_manual(session.state, None, force=True).covered) == ("1" if stays else "1-2")
    session.add("u")
    assert session.places(plan_manual(session.state, None, force=True).covered) == "1-3"
