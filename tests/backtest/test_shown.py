"""What a full window shows is counted without building it."""

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.replay.backtest import shown
from ledger.replay.backtest.turns import partners, split_pairs, tool_pairs
from ledger.replay.what_if.config_replay import replay
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.memory_config import config
from tests.support.driver import Driven
from tests.support.examples import up_to
from tests.support.histories import STEPS, Step, configs, happened

REMOVED = [Step("add", "[u1 c1:1 r1:1]"), Step("remove"), Step("add", "[u1]"), Step("add", "[u1 c2:1 r2:1]")]
PLAIN = {"window": {"type": "full"}, "compactions": []}


def counted_and_built(session: Driven, raw: dict) -> tuple[tuple[list[int], int], tuple[list[int], int]]:
    """Return tokens and split pairs as counted, and of windows that were built."""
    follower = shown.Follower(session.events, config.load(raw))
    pairs = partners(tool_pairs(session.events))
    tokens, split = [], []

    def observe(state: SessionState, entries: Mapping[int, Entry]) -> None:
        follower.observe(state, entries)
        window = follower.window(state, entries)
        if window is not None:
            tokens.append(window.tokens)
            split.append(split_pairs(pairs, {entry.version for entry in window.entries}, state.version))

    replay(session.events, config.load(raw), {}, on_miss="estimate", observe=observe)
    return (follower.shown, follower.split_pairs), (tokens, sum(split))


@up_to(100)
@given(raw=configs(window="full"), steps=STEPS, other=st.none() | configs())
@example(raw=PLAIN, steps=REMOVED, other=None)
def test_counting_equals_building_the_window(raw: dict, steps: list[Step], other: dict | None) -> None:
    counted, built = counted_and_built(happened(other or raw, steps), raw)
    assert counted == built


def test_a_count_that_misses_what_left_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(shown, "_departed", lambda state: 0)
    counted, built = counted_and_built(happened(PLAIN, REMOVED), PLAIN)
    assert (counted[1], built[1]) == (0, 2)
