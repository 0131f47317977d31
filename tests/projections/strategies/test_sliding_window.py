"""The sliding window of seed 002 against R-002-1 to R-002-3 and its vectors."""

from fractions import Fraction

import pytest

from ledger.session.views import window_of
from projections.memory_config import config
from projections.memory_config.budget import budget_of
from tests.support.driver import Driven

BASE = {"type": "sliding_window", "max_tokens": 100}


def shown(notation: str, **fields: object) -> str:
    """Return what is shown after *notation*: numbers of the entries, and the tokens, ``!`` when over the limit."""
    session = Driven({"window": {**BASE, **fields}, "tokenizer": "approximate"}).add(notation)
    window = window_of(session.state)
    places = " ".join(str(session.added.index(entry.version) + 1) for entry in window.entries)
    over = budget_of(window, session.state.config).over_budget
    return f"{places} = {window.tokens}{'!' if over else ''}"


M = " q14"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(4, "1 2 3 4 5 6 = 76"), (5, "1 2 5 6 7 = 62"), (6, "1 2 5 6 7 8 = 76"), (7, "1 2 7 8 9 = 62")],
)
def test_what_is_preserved_and_the_newest_steps__V_002_1(steps: int, expected: str) -> None:
    """R-002-2: stable between prunings."""
    assert shown("i10 u10" + M * steps) == expected


def test_the_limit_itself_is_not_passed__V_002_2() -> None:
    assert shown("q40 q40") == "1 2 = 80"
    assert shown("q40 q40 q1") == "2 3 = 41"


def test_a_preserved_kind_keeps_its_whole_unit__V_002_3() -> None:
    assert shown("[i10 c1:14 r1:14 q44 q14]", preserve=["tool_use", "tool_result"]) == "2 3 5 = 42"


def test_what_stays_is_in_its_original_order__V_002_4() -> None:
    assert shown("[q30 q20 u20 q20]") == "2 3 4 = 60"


def test_a_call_that_is_open_stays_also_where_a_pruned_one_had_its_id() -> None:
    """R-GEN-8, R-002-3: a result of the one that was pruned does not answer the other, and is not shown."""
    assert shown("[u41 u200 c1:0 u0] [c1 c2 c3 r1 r2 r3] [a0]", max_tokens=300) == "1 2 4 5 6 7 9 10 11 = 291!"


def test_a_result_never_stays_without_its_call__V_002_5() -> None:
    assert shown("[i10 u10 c1:30 r1:30 q15]") == "1 2 5 = 35"


def test_a_low_threshold_has_a_lower_target__V_002_6() -> None:
    assert shown("q14 q14 q14", compression_threshold=0.5) == "1 2 3 = 42"
    assert shown("q14 q14 q14 q14", compression_threshold=0.5) == "2 3 4 = 42"
    assert shown("q14 q14 q14 q14 q14", compression_threshold=0.5) == "3 4 5 = 42"


def test_required_entries_may_exceed_the_limit_which_is_reported__V_002_7() -> None:
    assert shown("[u40 u40 q5 q6]") == "1 2 4 = 86!"
    assert shown("[i10 q20 q95]") == "1 3 = 105!"


@pytest.mark.parametrize(
    ("most", "threshold", "limit", "target"),
    [
        (1024, "0.8", Fraction("819.2"), 716),
        (4096, "0.75", 3072, 2867),
        (100, "0.7", 70, 61),
        (90, "0.7", 63, 55),
    ],
)
def test_limits_and_targets_are_exact__V_002_8(most: int, threshold: str, limit: object, target: int) -> None:
    """R-002-1, LAW-17."""
    window = config.load({"window": {**BASE, "max_tokens": most, "compression_threshold": threshold}}).window
    assert (window.limit, window.target) == (limit, target)


def test_an_open_call_and_the_newest_unit_always_stay() -> None:
    """R-002-3, R-GEN-9."""
    assert shown("[q40 c1:30] q20") == "2 3 = 50"


def test_a_system_message_is_a_system_instruction() -> None:
    assert shown("s10 q40 q40") == "1 3 = 50"
    assert shown("s10 q40 q40", preserve=[]) == "3 = 40"


@pytest.mark.parametrize("preserve", [["assistant"], ["System"], "summary", [1]])
def test_an_unknown_kind_is_refused(preserve: object) -> None:
    """R-CFG-8, V-CFG-4."""
    with pytest.raises(Exception, match=r"window\.preserve"):
        config.load({"window": {**BASE, "preserve": preserve}})
