"""Laws of every window strategy, over the registry. Source: strategies §13."""

import copy
import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.session.evolve import end_of_batch
from ledger.session.views import stats_of, window_of
from projections.entries import Entry
from projections.memory_config.budget import budget_of
from projections.memory_config.config import load
from projections.strategies import WINDOWS
from projections.strategies.full import place
from projections.strategies.interactions import all_interactions, passes
from projections.strategies.preserving import is_preserved
from projections.strategies.rolling import Rolling
from projections.tool_pairs import group_units
from tests.support import histories
from tests.support.driver import Driven
from tests.support.examples import up_to
from tests.support.histories import STEPS, configs, happened, hints

EXAMPLES = up_to(25)
each_window = pytest.mark.parametrize("kind", sorted(WINDOWS))


def shown_versions(session: Driven) -> set[int]:
    return {entry.version for entry in window_of(session.state, hints(session)).entries}


@each_window
def test_every_window_has_configs_here(kind: str) -> None:
    for fields in histories.WINDOWS[kind]:
        assert load({"window": {"type": kind, **fields}}), "add configs of it to WINDOWS in tests/support/histories.py"


@each_window
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_the_same_state_gives_the_same_window_and_stays_as_it_was__LAW_1(kind: str, data: Any, steps: list) -> None:
    session = happened(data.draw(configs(window=kind)), steps, histories.mixed)
    answers, before = hints(session), repr(session.state)
    again = copy.deepcopy(session.state.window)
    assert window_of(session.state, answers) == window_of(session.state, answers)
    assert repr(session.state) == before
    assert session.state.window == again


@each_window
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_nothing_is_shown_of_an_empty_or_cleared_session__LAW_2(kind: str, data: Any, steps: list) -> None:
    config = data.draw(configs(window=kind))
    for session in (happened(config, []), happened(config, [*steps, histories.Step("clear")])):
        window, stats = window_of(session.state, hints(session)), stats_of(session.state)
        assert (window.items, window.tokens) == ((), 0)
        assert (stats.total_entries, stats.total_tokens, stats.summaries) == (0, 0, 0)
        assert [session.plan(number) for number in range(len(session.state.config.compactions))] == [
            None for _ in session.state.config.compactions
        ]


@EXAMPLES
@given(config=configs(window="sliding_window"), steps=STEPS)
def test_sliding_window_keeps_its_limit_or_shows_only_what_it_must__LAW_6(config: dict, steps: list) -> None:
    session = happened(config, steps)
    window, own = window_of(session.state), session.state.config.window
    if window.tokens <= own.max_tokens * Fraction(own.compression_threshold):
        return
    assert budget_of(window, session.state.config).over_budget
    units = [unit for unit in group_units(window.entries) if not unit.open]
    free = [unit for unit in units if not any(is_preserved(entry, own.preserve) for entry in unit.entries)]
    loose = [summary for summary in window.summaries if not is_preserved(summary, own.preserve)]
    assert len(free) + len(loose) <= 1, "beside what must stay, only the newest"


@EXAMPLES
@given(config=configs(window="max_tokens"), steps=STEPS)
def test_max_tokens_shows_whole_interactions_as_many_as_fit__LAW_7(config: dict, steps: list) -> None:
    session = happened(config, steps)
    own, shown = session.state.config.window, shown_versions(session)
    closed = [interaction for interaction in all_interactions(end_of_batch(session.state)) if interaction.closed]
    passing = [
        interaction for at, interaction in enumerate(reversed(closed)) if passes(own.conditions, interaction, at)
    ]
    taken = [item for item in passing if item.entries[0].version in shown]
    for interaction in closed:
        assert len({entry.version in shown for entry in interaction.entries}) == 1
    assert sum(item.tokens for item in taken) <= max(0, own.memory_max_tokens)
    assert taken == passing[: len(taken)]
    if own.memory_max_tokens >= 0 and len(taken) < len(passing):
        assert sum(item.tokens for item in passing[: len(taken) + 1]) > own.memory_max_tokens


@each_window
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_items_stand_in_position_order__LAW_8(kind: str, data: Any, steps: list) -> None:
    session = happened(data.draw(configs(window=kind)), steps)
    window, own = window_of(session.state, hints(session)), session.state.config.window
    assert window.tokens == sum(item.tokens for item in window.items)
    if not isinstance(own, Rolling):
        places = [place(item) for item in window.items]
        assert all(first <= other for first, other in itertools.pairwise(places))
        versions = [item.version for item in window.items if isinstance(item, Entry)]
        assert versions == sorted(set(versions))
        return
    firsts = [summary.first_version for summary in window.summaries]
    assert firsts == sorted(firsts, reverse=own.order == "newest_first")
    assert len({entry.version for entry in window.entries}) == len(window.entries)


@each_window
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_no_window_splits_a_unit_or_hides_an_open_call__LAW_9(kind: str, data: Any, steps: list) -> None:
    check_units_shown(happened(data.draw(configs(window=kind)), steps))


def check_units_shown(session: Driven) -> None:
    shown = shown_versions(session)
    for unit in group_units(session.state.window.entries):
        in_window = {entry.version in shown for entry in unit.entries}
        assert len(in_window) == 1
        assert in_window == {True} or not unit.open
