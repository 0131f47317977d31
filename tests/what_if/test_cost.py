"""A replay costs the same for each event at any length."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from ledger.llm.prices import load_prices
from ledger.replay.backtest.measures import measure
from ledger.replay.what_if.config_replay import replay
from projections.memory_config import config as memory_config
from projections.window import ActiveEntries
from tests.support.specification import Session

CONFIGS = {
    "full": {"profile": "none"},
    "rolling": {"window": {"type": "rolling"}},
    "token_threshold": {"profile": "memory_manager"},
}


def calls(work: Callable[[], Any]) -> int:
    """Return how many Python functions *work* calls."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def calls_per_event(work: Callable[[list], Any], length: int) -> float:
    events = Session({"profile": "none"}).add("u c1 r1 a " * (length // 4)).events
    work(events)  # loads what is loaded once
    return calls(lambda: work(events)) / len(events)


def growth(work: Callable[[list], Any]) -> float:
    """Return the cost of an event in a session of 2,000 entries, to one in a session of 500."""
    return calls_per_event(work, 2_000) / calls_per_event(work, 500)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_replay_is_linear(name: str) -> None:
    config = memory_config.load(CONFIGS[name])
    assert growth(lambda events: replay(events, config)) < 1.25


@pytest.mark.full
@pytest.mark.parametrize("name", CONFIGS)
def test_measuring_a_session_is_linear(name: str) -> None:
    config, prices = memory_config.load(CONFIGS[name]), load_prices()
    assert growth(lambda events: measure("s", events, name, config, prices=prices)) < 1.25


@pytest.mark.full
def test_a_replay_that_looks_at_all_entries_for_each_event_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    config = memory_config.load(CONFIGS["full"])
    at = ActiveEntries.newest
    monkeypatch.setattr(
        "ledger.replay.what_if.config_replay.Replay._evaluate",
        lambda replay, last: at(replay._state.window, "") or iter(()),
    )
    assert growth(lambda events: replay(events, config)) > 2
