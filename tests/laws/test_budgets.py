"""The budget of a window: its parts sum to what is shown, and the limit means the same everywhere. Source: R-WIN-4."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import KnowledgeSource
from ledger.session.state import SessionState
from ledger.session.views import current_turn, stats_of, window_of
from projections.memory_config.budget import Budget, budget_of
from projections.strategies import WINDOWS
from projections.strategies.base import Hints
from projections.token_limits import fitted
from projections.window import Knowledge, Window
from tests.support import histories
from tests.support.driver import Driven
from tests.support.examples import up_to
from tests.support.histories import STEPS, configs, happened, hints

PIECE = Knowledge("The guest is allergic to nuts.", KnowledgeSource("other", 4, 0, 30))


def check_budget(window: Window, state: SessionState) -> Budget:
    budget = budget_of(window, state.config, current_turn(state))
    parts = (budget.system, budget.pinned, budget.current_turn, budget.history, budget.summaries, budget.recalled)
    assert sum(parts) + budget.knowledge == budget.tokens == window.tokens + window.knowledge_tokens
    assert all(part >= 0 for part in (*parts, budget.knowledge))
    assert budget.excess == (0 if budget.limit is None else max(0, budget.tokens - budget.limit))
    assert budget.over_budget == (budget.excess > 0)
    return budget


@pytest.mark.parametrize("kind", sorted(WINDOWS))
@up_to(25)
@given(data=st.data(), steps=STEPS, known=st.integers(0, 400), limit=st.none() | st.integers(1, 900))
def test_the_parts_sum_to_what_is_shown__LAW_29(kind: str, data: Any, steps: list, known: int, limit: int) -> None:
    session = happened(data.draw(configs(window=kind)), steps)
    found: Hints = replace(hints(session), knowledge=(PIECE,) if known else (), knowledge_tokens=known)
    window = window_of(session.state, found)
    budget = check_budget(window, session.state)
    recalled = [entry.tokens for entry in window.entries if entry.version in dict(window.recalled)]
    assert budget.recalled == sum(recalled)
    assert (budget.knowledge, budget.summaries) == (known, sum(summary.tokens for summary in window.summaries))
    cut = check_budget(fitted(window, limit), session.state)
    assert cut.limit == min((each for each in (limit, budget.limit) if each is not None), default=None)


def test_a_part_that_is_left_out_is_found__LAW_29(monkeypatch: pytest.MonkeyPatch) -> None:
    session = happened({"profile": "none"}, [histories.Step("add", "[u10 a20]")])
    check_budget(window_of(session.state), session.state)
    real = WINDOWS["full"]

    def window(*args: Any) -> Window:
        shown = real.window(*args)
        return replace(shown, items=shown.items[1:])

    monkeypatch.setitem(WINDOWS, "full", replace(real, window=window))
    with pytest.raises(AssertionError):
        check_budget(window_of(session.state), session.state)


TEN = {
    "token_threshold": {"profile": "memory_manager", "max_tokens": 10},
    "sliding_window": {"window": {"type": "sliding_window", "max_tokens": 10, "compression_threshold": 1}},
    "max_tokens": {"window": {"type": "max_tokens", "memory_max_tokens": 10}},
    "recall": {"window": {"type": "recall", "max_tokens": 10}},
    "rolling": {
        "window": {"type": "rolling", "size": 3},
        "compactions": [{"type": "neuralyzer", "input_tokens_threshold": 10, "interaction_keep": 1}],
    },
    "progressive": {"profile": "working_memory", "context_window": 20, "threshold": 0.5, "keep_ratio": 0.1},
    "summarization": {
        "compactions": [{"type": "summarization", "model": "m", "max_tokens": 10, "compression_threshold": 1}]
    },
    "workflow": {"profile": "workflow", "max_tokens": 10, "compression_threshold": 1},
}


@pytest.mark.parametrize("strategy", TEN)
def test_a_budget_of_ten_that_shows_999_says_so(strategy: str) -> None:
    session = Driven({**TEN[strategy], "tokenizer": "approximate"}).append("u999")
    budget = check_budget(window_of(session.state), session.state)
    assert (budget.current_turn, budget.limit, budget.excess, budget.over_budget) == (999, 10, 989, True)
    assert stats_of(session.state).over_budget


@pytest.mark.parametrize("strategy", TEN)
def test_a_budget_of_ten_that_shows_ten_does_not(strategy: str) -> None:
    session = Driven({**TEN[strategy], "tokenizer": "approximate"}).append("u10")
    assert not check_budget(window_of(session.state), session.state).over_budget
    assert not stats_of(session.state).over_budget


def test_each_part_is_counted_once() -> None:
    window = {"type": "sliding_window", "max_tokens": 1000, "preserve": ["user_prompt", "context"]}
    session = Driven({"window": window, "tokenizer": "approximate"}).append("i1 x2 u4 a8 u16 c1:32 r1:64 u128 c2:256")
    budget = check_budget(window_of(session.state), session.state)
    assert (budget.system, budget.pinned) == (1, 2 + 4 + 16)
    assert (budget.current_turn, budget.history) == (128 + 256, 8 + 32 + 64)
    assert budget.limit == 800
