"""The compaction protocol of strategies §4, decided and folded without I/O."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from ledger.errors import CompactionInProgress
from ledger.events import (
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    EntryAdded,
    EntryRemoved,
)
from ledger.llm.compaction.summarizing import trust_of
from ledger.session.commands import (
    ChangeConfig,
    ClearSession,
    CompleteCompaction,
    EditEntry,
    FailCompaction,
    RemoveEntry,
    RequestCompaction,
)
from ledger.session.evolve import end_of_batch
from ledger.session.views import plan_manual, stats_of
from projections.memory_config import config
from tests.support.driver import Driven, Scripted, exact, raises, text_of, too_long

SMALL = {"max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1}
TWO_KEYS = {
    "compactions": [
        {"type": "token_threshold", "key": "small", **SMALL},
        {"type": "token_threshold", "key": "large", "max_entries": 6, "recent_window": 0, "min_entries_to_compress": 1},
    ]
}


def in_flight(settings: dict = SMALL, notation: str = "u a u a u"):
    """Return a session, and a compaction of it whose summarizer has not answered yet."""
    session = Driven(settings).append(notation)
    return session, session.request(session.plan())


def without_compactions(session: Driven):
    state = end_of_batch(session.state)
    return state.window, state.summaries, state.items, state.counts, state.config, state.progress


def edit(session: Driven, entry_id: str, content: str = "other") -> None:
    session.do(EditEntry(write_id=next(session.ids), entry_id=entry_id, content=content, tokens=1, tokenizer="caller"))


def test_an_entry_added_meanwhile_is_no_part_of_the_compaction__V_CMP_1() -> None:
    session, job = in_flight({}, "u a " * 50 + "u")
    done = session.append("a").answer(job)
    assert session.places(done.covered) == "1-91"
    assert [entry.entry_id for entry in session.state.window.entries] == [f"e{place}" for place in range(92, 103)]
    assert len(session.state.summaries.live) == 1


def test_a_result_after_a_clear_is_discarded__V_CMP_2() -> None:
    session, job = in_flight()
    session.do(ClearSession(next(session.ids)))
    late = session.answer(job)
    assert (type(late), late.reason) == (CompactionDiscarded, "cleared")
    assert (session.state.window.entries, session.state.summaries.live, session.state.compactions.in_flight) == (
        type(session.state.window.entries)(),
        (),
        (),
    )


def test_a_result_after_a_covered_entry_was_edited_is_discarded__V_CMP_2() -> None:
    session, job = in_flight()
    edit(session, "e2")
    late = session.answer(job)
    assert (type(late), late.reason) == (CompactionDiscarded, "changed")
    assert len(session.state.window.entries) == 5


def test_a_result_after_a_covered_entry_was_removed_is_discarded() -> None:
    """R-CMP-5."""
    session, job = in_flight()
    session.do(RemoveEntry(next(session.ids), "e4"))
    assert session.answer(job).reason == "changed"


def test_a_change_of_an_entry_that_is_not_covered_does_no_harm() -> None:
    """R-CMP-5."""
    session, job = in_flight()
    edit(session, "e5")
    assert isinstance(session.answer(job), CompactionCompleted)


def test_a_late_failure_is_discarded_as_well() -> None:
    """R-CMP-5, R-CMP-9: it counts as no failure."""
    session, job = in_flight()
    edit(session, "e2")
    assert session.answer(job, Scripted(raises)).reason == "changed"
    assert session.state.compactions.failures == ()


def test_of_two_workers_one_completes_and_the_other_writes_nothing__V_CMP_3() -> None:
    session, job = in_flight()
    assert isinstance(session.answer(job), CompactionCompleted)
    assert session.answer(job) is None
    assert session.answer(job, Scripted(raises)) is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(raises, "error", id="V-CMP-4-raises"),
        pytest.param(" \n", "empty", id="V-CMP-4-empty"),
        pytest.param(too_long, "no_gain", id="V-CMP-4-long"),
        pytest.param(text_of(40), "no_gain", id="no-gain-with-exactly-as-many-tokens"),
        pytest.param("I'm sorry, but I can't summarise this.", "invalid_output", id="refusal"),
        pytest.param("No prior history.", "invalid_output", id="nothing-to-say"),
        pytest.param("a\0b", "invalid_output", id="nul"),
        pytest.param("a\ud800b", "invalid_output", id="lone-surrogate"),
        pytest.param("<think>It is about a test.", "empty", id="only-a-thought"),
    ],
)
def test_an_unusable_answer_fails_and_changes_nothing(answer, reason: str) -> None:
    """R-CMP-6, trust M-2, M-3, I-53."""
    session, job = in_flight()
    before = without_compactions(session)
    failed = session.answer(job, Scripted(answer))
    assert (type(failed), failed.reason) == (CompactionFailed, reason)
    assert without_compactions(session) == before


def test_one_token_less_than_its_source_is_a_gain() -> None:
    """R-CMP-6."""
    session, job = in_flight()
    done = session.answer(job, Scripted(text_of(39)))
    assert (type(done), done.tokens_after, done.over_target) == (CompactionCompleted, 39, True)


@pytest.mark.parametrize(("answer", "error"), [(raises, "error"), (" ", "empty"), (too_long, "no_gain")])
def test_the_heuristic_is_the_fallback_if_configured(answer, error: str) -> None:
    """R-CMP-6, R-000-10: and the error is recorded."""
    session, job = in_flight({**SMALL, "on_failure": "heuristic"}, "u100 a100 u100 a100 u100")
    done = session.answer(job, Scripted(answer))
    assert (done.method, done.model, done.outputs) == ("heuristic", None, ())
    assert done.error.startswith(f"{error}: ")
    assert done.text.startswith("[Previous conversation summary]\n2 user messages\n")


def test_a_heuristic_that_gains_nothing_fails_too() -> None:
    """R-CMP-6."""
    session, job = in_flight({**SMALL, "on_failure": "heuristic"}, "u1 a1 u1 a1 u1")
    failed = session.answer(job, Scripted(raises))
    assert (type(failed), failed.reason) == (CompactionFailed, "no_gain")


@pytest.mark.parametrize("failures", [10_000, 5])
def test_a_key_that_failed_is_tried_again_after_ever_more_entries__V_CMP_5(failures: int) -> None:
    """R-CMP-9."""
    session = Driven(summarizer=Scripted(*[raises] * failures, exact)).add("u a " * 60)
    attempts = [101, 102, 104, 108, 116]
    assert session.entries_at(CompactionFailed) == attempts
    assert session.entries_at(CompactionRequested) == attempts


def test_the_wait_between_attempts_ends_at_64_entries_and_a_success_ends_it() -> None:
    """R-CMP-9."""
    session = Driven(SMALL, Scripted(*[raises] * 9, exact)).add("u " * 300)
    attempts = session.entries_at(CompactionFailed)
    assert [later - sooner for sooner, later in pairwise(attempts)] == [1, 2, 4, 8, 16, 32, 64, 64]
    assert session.state.compactions.failures == ()
    assert session.entries_at(CompactionCompleted)[:3] == [260, 264, 268]


def test_a_clear_forgets_failures() -> None:
    """LAW-2."""
    session = Driven(SMALL, Scripted(raises)).add("u a u a u")
    session.do(ClearSession(next(session.ids)))
    assert session.state.compactions.failures == ()


def test_a_key_has_one_compaction_under_way() -> None:
    """R-CMP-7."""
    session, job = in_flight()
    session.append("u a u a u")
    assert session.plan() is None
    with pytest.raises(CompactionInProgress) as refused:
        plan_manual(session.state, None, force=True)
    assert (refused.value.code, refused.value.key) == ("compaction_in_progress", "token_threshold")
    session.answer(job)
    assert session.plan() is not None


def test_a_request_of_a_stale_plan_is_refused() -> None:
    """R-CMP-7."""
    session = Driven(SMALL).append("u a u a u")
    plan = session.plan()
    session.when(RequestCompaction("w1", "c1", plan)).then(CompactionRequested)
    session.when(RequestCompaction("w2", "c2", plan)).refuses(CompactionInProgress)


def test_a_plan_for_entries_that_another_key_holds_is_dropped_and_repeated_later() -> None:
    """R-CMP-7."""
    session, job = in_flight(TWO_KEYS)
    session.append("a u")
    assert session.plan(1) is None
    with pytest.raises(CompactionInProgress):
        plan_manual(session.state, "large", force=True)
    session.answer(job, Scripted(raises))
    assert session.plan(1) is not None


def test_a_request_that_meets_a_reservation_records_nothing() -> None:
    """R-CMP-7: two workers planned from the same state."""
    session = Driven(TWO_KEYS).append("u a u a u a u")
    plans = [session.plan(0), session.plan(1)]
    session.when(RequestCompaction("w1", "c1", plans[0])).then(CompactionRequested)
    session.when(RequestCompaction("w2", "c2", plans[1])).then()


def test_each_key_is_evaluated_once_on_the_state_the_one_before_left() -> None:
    """R-CMP-8."""
    session = Driven(TWO_KEYS).add("[u a u a u a u]")
    assert [job.asked.key for job in session.jobs] == ["small"]
    assert len(session.state.window.entries) == 1


def test_one_batch_is_one_evaluation() -> None:
    """R-CMP-8."""
    session = Driven(SMALL).add("[u a u a u a u a u a u a]")
    assert [session.places(done.covered) for done in session.completed] == ["1-11"]


def test_a_change_of_the_config_compacts_nothing_and_acts_from_the_next_batch() -> None:
    """R-CFG-9, R-CMP-8."""
    session = Driven().add("u a u a u")
    session.do(ChangeConfig(next(session.ids), config.load(SMALL)))
    assert not session.jobs
    session.add("a")
    assert [session.places(done.covered) for done in session.completed] == ["1-5"]


def test_only_completed_changes_the_state() -> None:
    """R-CMP-3."""
    session = Driven(SMALL).append("u a u a u")
    before = without_compactions(session)
    job = session.request(session.plan())
    assert without_compactions(session) == before
    session.answer(job)
    assert without_compactions(session) != before


def test_a_request_records_its_plan_and_its_reason() -> None:
    """R-CMP-1, R-CMP-3."""
    session, job = in_flight()
    asked = job.asked
    assert (asked.key, asked.strategy, asked.action, asked.effect) == (
        "token_threshold",
        "token_threshold",
        "summarize",
        "replace",
    )
    assert (session.places(asked.covered), asked.tokens, asked.target_tokens) == ("1-4", 40, 12)
    assert (asked.seen_version, asked.automatic, asked.reasons) == (session.added[-1], True, ("entries",))
    assert asked.config == session.state.config.compactions[0].model_dump(mode="json")


def test_a_completion_records_its_result() -> None:
    """R-CMP-3, R-WIF-4, trust M-4."""
    session, job = in_flight()
    done = session.answer(job, Scripted(f"<think>Hm.</think>{text_of(12)}\n"))
    assert (done.text, done.tokens_after, done.tokenizer, done.fallback) == (text_of(12), 12, "o200k_base", False)
    assert (done.method, done.model, done.tokens_before, done.over_target) == ("llm", "scripted", 40, False)
    (output,) = done.outputs
    assert output.request_hash == job.request.request_hash
    assert output.text == f"<think>Hm.</think>{text_of(12)}\n", "kept where it is not the summary word for word"
    assert done.trust == "model"


@pytest.mark.parametrize(
    ("notation", "trust"),
    [("s u u u u", "user"), ("u a u u u", "model"), ("u c1 r1 a u", "external"), ("u x u a u", "external")],
)
def test_a_summary_is_trusted_as_little_as_the_least_of_what_went_in(notation: str, trust: str) -> None:
    """trust M-4."""
    session, job = in_flight(notation=notation)
    assert session.answer(job).trust == trust


def test_an_unknown_role_is_trusted_as_a_tool_is() -> None:
    """trust M-4: whatever a log has, only `system` is the operator's."""
    (entry,) = Driven({"profile": "none"}).append("a").state.window.entries
    roles = ["system", "user", "assistant", "tool", "developer", "System"]
    trusted = [trust_of([replace(entry, role=role)], []) for role in roles]
    assert trusted == ["operator", "user", "model", "external", "external", "external"]


def test_a_folded_summary_hands_on_its_trust() -> None:
    """trust M-4."""
    session = Driven({**SMALL, "recent_window": 0, "max_summary_tokens": 0}).add("u x u u u u u u u u")
    assert [done.trust for done in session.completed] == ["external", "external"]


def test_a_summary_folded_by_another_key_meanwhile_makes_a_result_late() -> None:
    """R-CMP-5: every folded summary must still be live."""
    keys = [
        {"type": "token_threshold", "key": key, "auto_compress": False, "recent_window": 0, "max_summary_tokens": 0}
        for key in ("one", "other")
    ]
    session = Driven({"compactions": keys}).append("u u")
    session.answer(session.request(plan_manual(session.state, "one", force=True)))
    first = session.append("u u").request(plan_manual(session.state, "one", force=True))
    second = session.append("u u").request(plan_manual_beyond(session, first.asked.covered))
    assert set(first.asked.folds) == set(second.asked.folds) != set()
    assert isinstance(session.answer(second), CompactionCompleted)
    late = session.answer(first)
    assert (type(late), late.reason) == (CompactionDiscarded, "covered")


def plan_manual_beyond(session: Driven, held):
    """Return the plan of the other key for what the first one does not hold, as of before its request."""
    free = replace(session.state, compactions=type(session.state.compactions)())
    plan = plan_manual(free, "other", force=True)
    return replace(plan, covered=((held[-1][1] + 2, plan.covered[-1][1]),))


@pytest.mark.parametrize("change", ["cleared", "edited", "removed"])
def test_an_overlay_is_discarded_only_if_its_entries_are_cleared_edited_or_removed(change: str) -> None:
    """R-CMP-5."""
    session, job = in_flight({"profile": "rolling_interactions", "size": 2}, "u a u a u a")
    match change:
        case "cleared":
            session.do(ClearSession(next(session.ids)))
        case "edited":
            edit(session, "e3")
        case "removed":
            session.do(RemoveEntry(next(session.ids), "e3"))
    late = session.answer(job)
    assert (type(late), late.reason) == (CompactionDiscarded, "cleared" if change == "cleared" else "changed")


def test_an_overlay_whose_entries_were_covered_meanwhile_completes() -> None:
    """R-CMP-5."""
    settings = {
        "compactions": [
            {"type": "rolling_blocks", "size": 2, "unit": "entry"},
            {"type": "token_threshold", **SMALL},
        ]
    }
    session, job = in_flight(settings, "u a u a u")
    session.answer(session.request(session.plan(1)))
    assert not session.state.window.within(job.asked.covered)
    done = session.answer(job)
    assert (type(done), done.effect) == (CompactionCompleted, "overlay")


def test_a_compaction_of_a_key_that_the_config_lost_meanwhile_still_completes() -> None:
    session, job = in_flight()
    session.do(ChangeConfig(next(session.ids), config.load({"profile": "none"})))
    assert isinstance(session.answer(job), CompactionCompleted)


def test_a_block_whose_strategy_the_config_lost_meanwhile_is_discarded() -> None:
    session, job = in_flight({"profile": "rolling_interactions", "size": 2}, "u a u a u a")
    session.do(ChangeConfig(next(session.ids), config.load({"profile": "none"})))
    assert session.answer(job).reason == "evicted"


def test_a_failure_recorded_twice_counts_once() -> None:
    session, job = in_flight()
    session.when(FailCompaction("w1", job.asked.compaction_id, "error")).then(CompactionFailed)
    session.when(FailCompaction("w2", job.asked.compaction_id, "timeout")).then()
    assert session.state.compactions.failed("token_threshold") == 1


def test_what_was_abandoned_is_no_failure_of_the_model() -> None:
    session, job = in_flight()
    session.when(FailCompaction("w1", job.asked.compaction_id, "abandoned")).then(CompactionFailed)
    assert session.state.compactions.failed("token_threshold") == 0
    assert not session.state.compactions.running("token_threshold")


def test_an_unknown_compaction_is_ignored() -> None:
    session, job = in_flight()
    outcome = session.outcome(job, Scripted()).outcome
    session.when(CompleteCompaction("w", "unknown", outcome)).then()


def test_the_place_of_a_summary_is_that_of_the_oldest_entry_it_covers() -> None:
    """R-GEN-13."""
    session = Driven({**SMALL, "recent_window": 2}).add("s u c1 x u a a")
    assert session.places(session.completed[0].covered) == "2-3"
    assert session.state.summaries.live[0].first_version == session.added[1]


def test_entries_are_counted_by_what_became_of_them() -> None:
    """R-GEN-4, LAW-10."""
    session = Driven(SMALL).add("u a u a u a")
    session.when(RemoveEntry(next(session.ids), "e6")).then(EntryRemoved)
    stats = stats_of(session.state)
    assert (stats.total_entries, stats.compressed_entries, stats.active_entries, stats.removed_entries) == (6, 4, 1, 1)
    assert sum(isinstance(event.payload, EntryAdded) for event in session.events) == 6
