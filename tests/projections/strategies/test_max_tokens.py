"""The max_tokens window of seed 003 against R-003-1 to R-003-5 and its vectors."""

import pytest

from ledger.session.views import window_of
from tests.support.driver import Driven

#: Closed interactions of 30, 80, 40 and 10 tokens; the second has a tool message.
FOUR = "[u10 a20] [u10 c1:20 r1:30 a20] [u20 a20] [u5 a5]"


def shown(notation: str, budget: int, *conditions: str) -> list[int]:
    """Return the tokens of the shown interactions, oldest first; pinned entries apart."""
    window = {"type": "max_tokens", "memory_max_tokens": budget, "conditions": list(conditions)}
    session = Driven({"window": window}).add(notation)
    sums: list[int] = []
    for entry in window_of(session.state).entries:
        if entry.starts_interaction or not sums:
            sums.append(0)
        sums[-1] += entry.tokens
    return sums


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param(-1, [], id="V-003-1"),
        pytest.param(0, [], id="V-003-1-zero"),
        pytest.param(9, [], id="V-003-1-nine"),
        pytest.param(10, [10], id="V-003-2"),
        pytest.param(49, [10], id="V-003-2-below"),
        pytest.param(50, [40, 10], id="V-003-3"),
        pytest.param(129, [40, 10], id="V-003-3-below"),
        pytest.param(130, [80, 40, 10], id="V-003-4"),
        pytest.param(160, [30, 80, 40, 10], id="V-003-5"),
        pytest.param(10000, [30, 80, 40, 10], id="V-003-5-more"),
    ],
)
def test_whole_interactions_from_the_newest_back(budget: int, expected: list[int]) -> None:
    """R-003-2: equality fits."""
    assert shown(FOUR, budget) == expected


def test_one_that_fails_the_conditions_costs_nothing__V_003_6_and_V_003_7() -> None:
    """R-003-5: every condition for every message."""
    assert shown(FOUR, 60, "message.role != 'tool'") == [40, 10]
    assert shown(FOUR, 80, "message.role != 'tool'") == [30, 40, 10]


def test_the_current_turn_is_outside_the_budget__V_003_8() -> None:
    """R-003-3."""
    assert shown(FOUR + " u999", 50) == [40, 10, 999]


def test_below_zero_only_pinned_entries_and_the_current_turn_are_left() -> None:
    """R-003-4."""
    window = {"type": "max_tokens", "memory_max_tokens": -1}
    threshold = {"type": "token_threshold", "max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1}
    session = Driven({"window": window, "compactions": [threshold]}).add("s5 u5 a5 u5 a5 u5")
    assert session.completed
    assert [type(item).__name__ for item in window_of(session.state).items] == ["Entry", "Entry"]
    zero = Driven({"window": {**window, "memory_max_tokens": 0}, "compactions": [threshold]}).add("s5 u5 a5 u5 a5 u5")
    assert any(type(item).__name__ == "Summary" for item in window_of(zero.state).items)
