"""LAW-17: every decision about a share of a budget is exact, for each ratio with two decimals."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from ledger.session.views import window_of
from projections.memory_config import config
from projections.strategies.base import Hints, Recalled
from tests.support.driver import Driven

RATIOS = [f"0.{hundredths:02}" for hundredths in range(1, 100)]
BUDGETS = (1, 7, 10, 90, 100, 1024, 4096, 99_999)


def exact(ratio: str) -> Fraction:
    return Fraction(int(ratio[2:]), 100)


@pytest.mark.parametrize("written", [str, float])
def test_the_limit_of_seed_002_is_exact__LAW_17(written: type) -> None:
    """R-TOK-5, R-TOK-6, R-002-1."""
    for ratio in RATIOS:
        for budget in BUDGETS:
            fields = {"max_tokens": budget, "compression_threshold": written(ratio)}
            window = config.load({"window": {"type": "sliding_window", **fields}}).window
            share = exact(ratio)
            for tokens in (int(budget * share) - 1, int(budget * share), int(budget * share) + 1):
                assert window.is_near(tokens) == (tokens * 100 > budget * int(ratio[2:]))
            default = Fraction(7, 10) if share > Fraction(7, 10) else Fraction(7, 8) * share
            assert window.target == int(budget * default)


def test_the_trigger_of_seed_004_is_exact__LAW_17() -> None:
    """R-004-1, V-TOK-11 and V-TOK-12 among them."""
    for ratio in RATIOS:
        for budget in BUDGETS:
            fields = {"context_window": budget, "threshold": float(ratio), "keep_ratio": "0.001"}
            (compaction,) = config.load({"profile": "working_memory", **fields}).compactions
            assert compaction.trigger_tokens == budget * int(ratio[2:]) // 100


def test_the_target_of_seed_000_is_exact__LAW_17() -> None:
    """R-000-6."""
    for ratio in RATIOS:
        settings = {"max_entries": 2, "recent_window": 0, "min_entries_to_compress": 1, "compression_ratio": ratio}
        plan = Driven(settings).append("[u30 a30 u30]").plan()
        assert plan is not None
        assert plan.target_tokens == max(1, 90 * int(ratio[2:]) // 100)


def test_the_recent_share_of_recall_is_exact__LAW_17() -> None:
    """R-REC-2: beside interactions of one token each, a hit fits if it has the rest of the budget, and no more."""
    session = Driven({"window": {"type": "recall", "max_tokens": 90}}).append("[" + "u1 a0 " * 100 + "]")
    entry = session.state.window.entries[0]
    for ratio in RATIOS:
        window = {"type": "recall", "max_tokens": 90, "recent_share": float(ratio)}
        state = replace(session.state, config=config.load({"window": window}))
        rest = 90 - 90 * int(ratio[2:]) // 100
        for tokens, fits in ((rest, True), (rest + 1, False)):
            old = replace(entry, version=10_000, tokens=tokens)
            hit = Recalled(old.version, 1.0, (old,))
            assert bool(window_of(state, Hints((hit,))).recalled) == fits, (ratio, tokens)


def test_rejects_binary_floats__LAW_17() -> None:
    """Negative control: what floats would decide."""
    wrong = [ratio for ratio in RATIOS if int(90 * float(ratio)) != 90 * int(ratio[2:]) // 100]
    assert "0.70" in wrong
