"""The long-term strategies of seed 003 against R-003-6 to R-003-11 and their vectors."""

import json

import pytest

from ledger.errors import NotEnoughEntries
from ledger.session.commands import ChangeConfig
from projections.memory_config import config
from tests.support.driver import Driven, Scripted


def neuralyzer(**fields: object) -> dict:
    return {"window": {"type": "full"}, "compactions": [{"type": "neuralyzer", **fields}]}


def summarizer(**fields: object) -> dict:
    return {"window": {"type": "full"}, "compactions": [{"type": "summarizer", "cod_max_loops": 1, **fields}]}


def runs(session: Driven) -> list[tuple[int, str]]:
    """Return (interactions there were, interactions taken away) of each compaction."""
    numbers: dict[int, int] = {}
    count = 0
    for version in session.added:
        count += session.events[version - 1].payload.role == "user"
        numbers[version] = count
    found = []
    for event in session.events:
        if event.type == "compaction.completed":
            taken = [numbers[version] for first, last in event.payload.covered for version in range(first, last + 1)]
            so_far = max(number for version, number in numbers.items() if version < event.version)
            found.append((so_far, f"{min(taken)}-{max(taken)}"))
    return found


class Dense(Scripted):
    """Answers every pass with a short summary and one thing that is new."""

    async def summarize(self, request):
        self.script = (json.dumps({"missing_entities": [f"thing {len(self.asked)}"], "summary": "short"}),)
        return await super().summarize(request)


def test_the_neuralyzer_removes_all_but_interaction_keep__V_003_9() -> None:
    session = Driven(neuralyzer(interaction_threshold_qty=30, interaction_keep=5)).add("[u a] " * 80)
    assert runs(session) == [(30, "1-25"), (55, "26-50"), (80, "51-75")]
    assert session.completed[0].effect == "erase"
    none_kept = Driven(neuralyzer(interaction_threshold_qty=30)).add("[u a] " * 90)
    assert [so_far for so_far, _ in runs(none_kept)] == [30, 60, 90]


def test_with_every_threshold_off_nothing_ever_happens__V_003_10() -> None:
    assert not runs(Driven(neuralyzer()).add("[u a] " * 200))


def test_the_seeds_summarizer_fires_by_tokens__V_003_11() -> None:
    """R-003-11: one summary stays, into which the next folds it."""
    fields = {"interaction_threshold_qty": 15, "interaction_threshold_tokens": 15000, "interaction_keep": 2}
    session = Driven(summarizer(**fields), Dense()).add("[u600 a600] " * 35)
    assert runs(session) == [(13, "1-11"), (24, "12-22"), (35, "23-33")]
    assert len(session.state.summaries.live) == 1
    assert session.completed[1].folds == (session.completed[0].summary_id,)


def test_the_summarizers_defaults__V_003_12() -> None:
    few = Driven(summarizer(), Dense()).add("[u50 a50] " * 40)
    assert runs(few) == [(20, "1-20"), (40, "21-40")]
    heavy = Driven(summarizer(), Dense()).add("[u1250 a1250] " * 16)
    assert [so_far for so_far, _ in runs(heavy)] == [8, 16]


def test_an_error_of_a_listed_tool_fires_once__V_003_13() -> None:
    """R-003-7, R-003-8."""
    fields = {"on_tools_error_threshold": ["tool1"], "interaction_keep": 1}
    error = {"tool_status": "error"}
    second = Driven(neuralyzer(**fields)).add("[u a]").append("u c1").append("r1", **error).add("a").add("[u a]")
    assert runs(second) == [(2, "1-1")]
    first = Driven(neuralyzer(**fields)).append("u c1").append("r1", **error).add("a")
    assert not runs(first)
    assert runs(first.add("[u a]")) == [(2, "1-1")]


def test_a_tool_that_succeeds_fires_where_that_is_asked_for() -> None:
    session = Driven(neuralyzer(on_tools_success_threshold=["tool1"])).add("[u c1 r1 a]")
    assert runs(session) == [(1, "1-1")]
    assert session.events[-2].payload.reasons == ("tool_success",)


def test_results_from_before_a_strategy_was_there_do_not_fire_it() -> None:
    """R-003-8: it looks from the config.changed that introduced it."""
    session = Driven({"profile": "none"}).add("[u c1 r1 a]")
    session.do(ChangeConfig("w", config.load(neuralyzer(on_tools_success_threshold=["tool1"]))))
    assert not runs(session.add("[u a]"))
    assert runs(session.add("[u c2 r2 a]")) == []
    assert runs(session.add("u c1").add("r1").add("a"))


def test_reported_input_tokens_must_exceed_the_threshold__V_003_14() -> None:
    def session(tokens: int) -> Driven:
        metadata = {"usage": {"input_tokens": tokens}}
        return Driven(neuralyzer(input_tokens_threshold=100)).append("u").add("a", metadata=metadata)

    assert not runs(session(100))
    assert runs(session(101))


def test_without_a_report_the_window_is_counted() -> None:
    """R-003-7."""
    assert not runs(Driven(neuralyzer(input_tokens_threshold=100)).add("[u50 a50]"))
    assert runs(Driven(neuralyzer(input_tokens_threshold=100)).add("[u50 a51]"))


def test_conditions_choose_which_interactions_count_not_which_go__V_003_15() -> None:
    fields = {"interaction_threshold_qty": 3, "interaction_conditions": ["message.role != 'tool'"]}
    session = Driven(neuralyzer(**fields)).add("[u a] [u a]" + " [u c1 r1 a]" * 5)
    assert not runs(session)
    assert runs(session.add("[u a]")) == [(8, "1-8")]


def test_an_open_turn_is_waited_for__V_003_16() -> None:
    session = Driven(neuralyzer(interaction_threshold_qty=2)).add("[u a] [u a c1]")
    assert not runs(session)
    assert runs(session.add("r1").add("a")) == [(2, "1-2")]


def test_asked_by_a_caller_it_needs_something_to_take() -> None:
    """R-003-9."""
    session = Driven(neuralyzer(interaction_keep=1)).add("[u a]")
    with pytest.raises(NotEnoughEntries):
        session.plan_manual()
    session.add("[u a]")
    assert session.places(session.plan_manual().covered) == "1-2"


def test_an_erasure_leaves_summaries_alone() -> None:
    """R-003-10."""
    both = [
        {"type": "summarizer", "interaction_threshold_qty": 2, "cod_max_loops": 1},
        {"type": "neuralyzer", "interaction_threshold_qty": 3, "key": "later"},
    ]
    session = Driven({"window": {"type": "full"}, "compactions": both}, Dense()).add("[u9 a9] [u9 a9]")
    assert len(session.state.summaries.live) == 1
    session.add("u c1")
    assert len(session.state.summaries.live) == 1


@pytest.mark.parametrize("keep", [5, 6])
def test_it_may_not_keep_all_it_waits_for(keep: int) -> None:
    """R-CFG-7, V-CFG-4."""
    with pytest.raises(Exception, match=r"compactions\[0\].*interaction_keep"):
        config.load(neuralyzer(interaction_threshold_qty=5, interaction_keep=keep))
