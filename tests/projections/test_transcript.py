"""Units and interactions against the vectors of strategies §1."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from ledger.session.commands import AddEntries
from projections.log.history import HISTORY, PastEntry
from projections.tool_pairs import group_interactions, group_units, orphans
from projections.window import ActiveEntries
from tests.support.driver import Driven
from tests.support.notation import entry, with_facts
from tests.support.specification import given


def tags(entries) -> str:
    return " ".join(entry.content.split()[0] for entry in entries)


def units(window: ActiveEntries) -> list[str]:
    return [tags(unit.entries) for unit in group_units(window.entries)]


def interactions(window: ActiveEntries) -> list[tuple[str, bool]]:
    return [(tags(interaction.entries), interaction.closed) for interaction in group_interactions(window.entries)]


@pytest.mark.parametrize("reversed_times", [False, True])
def test_a_system_message_is_pinned_and_client_times_order_nothing__V_GEN_1(reversed_times: bool) -> None:
    """R-GEN-3, R-GEN-7, R-GEN-11."""
    session = given()
    for second, item in enumerate(["s", "a", "u", "u", "a"]):
        session.add(item, created_at=datetime(2024, 1, 1, 0, 0, 59 - second if reversed_times else second, tzinfo=UTC))
    window = session.state.window
    assert [entry.pinned for entry in window.entries] == [True, False, False, False, False]
    assert interactions(window) == [("a", True), ("u", True), ("u a", True)]


@pytest.mark.parametrize(
    ("notation", "expected_units", "expected_interactions"),
    [
        pytest.param("u c1 r1 a", ["u", "c1 r1", "a"], [("u c1 r1 a", True)], id="V-GEN-2"),
        pytest.param("u c1 c2 r1 r2", ["u", "c1 c2 r1 r2"], [("u c1 c2 r1 r2", False)], id="V-GEN-3"),
        pytest.param("u c1 r1 c2 r2 a", ["u", "c1 r1", "c2 r2", "a"], [("u c1 r1 c2 r2 a", True)], id="V-GEN-4"),
        pytest.param("u c1 u", ["u", "c1", "u"], [("u c1", True), ("u", False)], id="V-GEN-5"),
        pytest.param("u [a c1] r1 a", ["u", "a c1 r1", "a"], [("u a c1 r1 a", True)], id="V-GEN-7"),
        pytest.param("u [c1 a] r1 a", ["u", "c1 a r1", "a"], [("u c1 a r1 a", True)], id="V-GEN-7-text-after"),
        pytest.param("u [a a c1 c2] r1 c3", ["u", "a a c1 c2 r1", "c3"], [("u a a c1 c2 r1 c3", False)], id="V-GEN-8"),
        pytest.param("u a a c1 r1", ["u", "a a c1 r1"], [("u a a c1 r1", False)], id="V-GEN-9-more-writes"),
        pytest.param("u c1 a r1 a", ["u", "c1 a r1", "a"], [("u c1 a r1 a", True)], id="V-GEN-9-text-after"),
        pytest.param("[u a u a a]", ["u", "a", "u", "a", "a"], [("u a", True), ("u a a", True)], id="V-GEN-9-texts"),
        pytest.param(
            "u c1 u r1 a", ["u", "c1 r1", "u", "a"], [("u c1 r1", True), ("u a", True)], id="V-GEN-6-call-active"
        ),
    ],
)
def test_entries_group_into_units_and_interactions(notation, expected_units, expected_interactions) -> None:
    """R-GEN-8, R-GEN-9, R-GEN-11, R-GEN-12."""
    window = given(None, notation).state.window
    assert units(window) == expected_units
    assert interactions(window) == expected_interactions


def test_a_call_is_abandoned_by_the_next_user_message__V_GEN_5() -> None:
    open_call, abandoned = given(None, "u c1"), given(None, "u c1 u")
    assert [unit.open for unit in group_units(open_call.state.window.entries)] == [False, True]
    assert [unit.open for unit in group_units(abandoned.state.window.entries)] == [False, False, False]


def test_a_late_result_of_a_covered_call_is_a_unit_of_its_own__V_GEN_6() -> None:
    """R-GEN-9."""
    session = Driven({"auto_compress": False, "recent_window": 1}).add("u c1 u")
    assert session.places(session.compress(force=True).covered) == "1-2"
    session.add("r1 a")
    assert units(session.state.window) == ["u", "r1", "a"]
    assert interactions(session.state.window) == [("u r1 a", True)]


@pytest.mark.parametrize(
    ("kind", "ends"),
    [("a", True), ("q", True), ("u", False), ("x", False), ("r9", False), ("p", False)],
)
def test_an_interaction_closes_only_with_an_assistant_message_or_a_step_result(kind: str, ends: bool) -> None:
    """R-GEN-12."""
    assert interactions(given(None, f"u {kind}").state.window)[-1][1] is ends


def test_an_assistant_message_marked_as_unfinished_closes_no_turn() -> None:
    """R-GEN-12: metadata ``end_turn: false``."""
    session = given(None, "u").add("a", metadata={"end_turn": False})
    assert interactions(session.state.window) == [("u a", False)]


def test_pinned_entries_belong_to_no_interaction() -> None:
    """R-GEN-7."""
    assert interactions(given(None, "i u s a").state.window) == [("u a", True)]


def test_a_step_prompt_starts_no_interaction() -> None:
    """R-GEN-11: only kind message with role user does."""
    assert interactions(given(None, "u p q").state.window) == [("u p q", True)]


def test_a_result_without_id_answers_the_oldest_unanswered_call_of_its_tool() -> None:
    """R-GEN-8."""
    session = given(None, "u")
    session.add("[c1 c2 c3]", tool_name="shell").add("r9", tool_name="shell", tool_call_id=None)
    session.add("r2", tool_name="shell").add("r8", tool_name="shell", tool_call_id=None)
    unit = group_units(session.state.window.entries)[1]
    assert (tags(unit.entries), unit.open) == ("c1 c2 c3 r9 r2 r8", False)


def test_a_result_of_an_unknown_call_is_an_orphan_and_a_unit_of_its_own() -> None:
    """R-GEN-8."""
    entries = given(None, "u c1 r2 r1 r1").state.window.entries
    assert [tags(unit.entries) for unit in group_units(entries)] == ["u", "c1 r1", "r2", "r1"]
    assert {entry.content for entry in entries if entry.version in orphans((), entries)} == {"r2 3", "r1 5"}


def test_a_call_that_waits_from_an_earlier_batch_makes_no_orphan() -> None:
    session = given(None, "u c1")
    waiting = session.state.items.waiting
    late = given(None, "r1").state.window.entries
    assert not orphans(waiting, late)
    assert orphans((), late)


def test_a_run_of_calls_ends_with_anything_but_a_call() -> None:
    """R-GEN-8: a unit is a run of consecutive calls."""
    assert units(given(None, "u c1 x c2 r1 r2").state.window) == ["u", "c1 r1", "x", "c2 r2"]


def test_texts_after_thinking_are_one_answer__V_GEN_10() -> None:
    """R-GEN-8: a provider takes none of them without the thinking, which stands beside the first."""
    session = given(None, "u")
    session.add("a a")
    for data in ({"thinking": [{"type": "thinking"}]}, {"reasoning": [{}]}, {"reasoning_content": "so"}):
        first, *others = (entry(tag, number, write_id=str(data)) for number, tag in enumerate(["a", "a", "a"], 1))
        session.do(AddEntries((with_facts(replace(first, data=data, entry_id=str(data))), *others)))
    session.add("a c1 u a a")
    assert units(session.state.window) == ["u", "a", "a", "a a a", "a a a", "a a a a c1", "u", "a", "a"]


def test_history_and_window_agree_on_what_is_active() -> None:
    session = Driven({"max_entries": 3, "recent_window": 1, "min_entries_to_compress": 1}).add("u a u a c1 r1 u")
    active = [past for past in HISTORY.fold(session.events).entries if past.status == "active"]
    assert active == [PastEntry.of(entry) for entry in session.state.window.entries]


def test_a_call_after_new_thinking_begins_an_answer__V_GEN_11() -> None:
    """R-GEN-8: calls in a row are one answer until then."""
    session = given(None, "u c1 c2")
    thinks = entry("c3", 4, write_id="w", data={"thinking": [{"type": "thinking"}]})
    session.do(AddEntries((thinks,)))
    assert units(session.state.window) == ["u", "c1 c2", "c3"]
