"""Entries that wait in a queue change nothing for the next decision, and their counts hide no compaction."""

import random

import pytest
from msgspec.structs import replace

from ledger.session.fast_fold import SESSION_IN_RUNS
from ledger.session.views import adding_may_wait, compaction_may_be_due, plan_automatic
from projections.strategies import COMPACTIONS
from tests.laws.test_pages import CONFIGS, happened


def check(seed: int) -> int:
    """Compare each state of a random session with a few of its last entries queued; return how many were quiet."""
    dice = random.Random(seed)
    session = happened(dice, dice.randrange(60))
    queued = session.events[len(session.events) - dice.randrange(8) :]
    before = SESSION_IN_RUNS.fold(session.events[: len(session.events) - len(queued)])
    if not adding_may_wait(before, queued):
        return 0
    after = SESSION_IN_RUNS.fold(queued, before)
    same = [(each.opened, each.config, each.items.waiting, each.cleared_version) for each in (before, after)]
    assert same[0] == same[1], f"seed {seed}"
    quiet = 0
    for settings in CONFIGS:
        if settings.compactions and not compaction_may_be_due(replace(before, config=settings), queued):
            quiet += 1
            state = replace(after, config=settings)
            planned = [plan_automatic(state, compaction) for compaction in settings.compactions]
            assert planned == [None] * len(planned), f"seed {seed}: {settings}"
    return quiet


def check_many(seed: int, count: int) -> None:
    assert sum(check(seed + number) for number in range(count)) > 0


def test_what_is_quiet_plans_nothing(seed: int) -> None:
    check_many(seed, 60)


@pytest.mark.parametrize("kind", ["token_threshold", "progressive", "summarization"])
def test_a_strategy_that_is_always_quiet_is_noticed(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    deaf = replace(COMPACTIONS[kind], is_quiet=lambda config, entries, tokens: True)
    monkeypatch.setitem(COMPACTIONS, kind, deaf)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        check_many(seed, 400)


def test_a_queue_of_tool_calls_is_noticed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(f"{__name__}.adding_may_wait", lambda state, events: True)
    with pytest.raises(AssertionError):
        check_many(seed, 100)
