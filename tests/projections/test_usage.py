"""How full a context window is, and what fits it, against R-004-8 and R-004-10."""

from datetime import UTC, datetime

import pytest

from projections.strategies.progressive import Progressive
from projections.usage import ContextUsage, context_usage, fitting, most_recent
from tests.support.specification import given

CONFIG = Progressive(context_window=1000)


def entries(notation: str) -> tuple:
    return tuple(given({"profile": "none"}, notation).state.window.entries)


def versions(shown: tuple) -> list[str]:
    return [entry.entry_id for entry in shown]


@pytest.mark.parametrize(
    ("tokens", "used", "until"),
    [(0, 0.0, 0.0), (100, 10.0, 100 / 7), (700, 70.0, 100.0), (2000, 100.0, 100.0)],
)
def test_percentages__V_004_7(tokens: int, used: float, until: float) -> None:
    """R-004-8: at the threshold it is 100 % until the summary, and none is made yet."""
    assert context_usage(CONFIG, entries(f"u{tokens}")) == ContextUsage(used, until)


def test_percentages_are_zero_without_messages_and_unknown_without_a_window() -> None:
    """R-004-8."""
    assert context_usage(CONFIG, ()) == ContextUsage(0.0, 0.0)
    assert context_usage(Progressive(), entries("u100")) is None
    assert context_usage(Progressive(), ()) is None
    named = Progressive(model_name="gpt-4")
    assert context_usage(named, entries("u8192")) == ContextUsage(100.0, 100.0)
    assert context_usage(Progressive(model_name="gpt-4", context_window=100), entries("u10")).used == 10.0


def test_with_a_threshold_of_no_token_the_summary_is_always_due() -> None:
    """R-004-8: 100.0 if thr ≤ 0."""
    tiny = Progressive(context_window=1)
    assert tiny.trigger_tokens == 0
    assert context_usage(tiny, entries("u0")) == ContextUsage(0.0, 100.0)


@pytest.mark.parametrize(
    ("notation", "limit", "fitting_versions"),
    [
        ("u10 a10 u10", 30, ["e1", "e2", "e3"]),
        ("u10 a10 u10", 29, ["e2", "e3"]),
        ("u10 a10 u10", 5, ["e3"]),
        ("u10 c1:10 r1:10 a10", 25, ["e4"]),
        ("u10 c1:10 a10 u10 r1:10 a10", 20, ["e4", "e6"]),
        ("u10 c1:50 a10", 20, ["e2", "e3"]),
    ],
)
def test_the_oldest_units_are_dropped_until_the_rest_fits(
    notation: str, limit: int, fitting_versions: list[str]
) -> None:
    """R-004-10, R-GEN-8, R-GEN-9: whole units; the newest stays, and an open call."""
    assert versions(fitting(entries(notation), limit)) == fitting_versions
    assert fitting((), limit) == ()


def test_the_last_messages_are_the_newest_by_time() -> None:
    """R-004-10, http W-17: by the client's time, else the recorded one; equal times by version."""
    session = given({"profile": "none"})
    for day in (3, 1, 2, 2):
        session.add("u", created_at=datetime(2020, 1, day, tzinfo=UTC))
    texts = tuple(session.state.window.entries)
    assert versions(most_recent(texts, 2)) == ["e4", "e1"]
    assert versions(most_recent(texts, 0)) == versions(most_recent(texts, -1)) == ["e2", "e3", "e4", "e1"]
    assert versions(most_recent(texts, 9)) == ["e2", "e3", "e4", "e1"]
