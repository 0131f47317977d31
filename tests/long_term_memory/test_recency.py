"""How fresh a record is, and its rank. Source: http W-46."""

from datetime import UTC, datetime, timedelta

import pytest

from projections.records.recency import Recency

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("accessed_days", "created_days", "recency"),
    [
        (0, 0, 1.0),
        (7, 0, 0.7),
        (0, 30, 0.8),
        (7, 30, 0.5),
        (14, 60, 0.25),
        (1, 1, 0.6 * 2 ** (-1 / 7) + 0.4 * 2 ** (-1 / 30)),
        (100_000_000 / 365, 700_000, 0.0),
        (-5, -5, 1.0),
    ],
)
def test_freshness_halves_in_a_week_and_novelty_in_a_month(
    accessed_days: float, created_days: float, recency: float
) -> None:
    """http W-46: r = .6·2^-(days since access/7) + .4·2^-(days since creation/30), clamped to 0 to 1."""
    accessed, created = NOW - timedelta(days=accessed_days), NOW - timedelta(days=created_days)
    assert Recency().of(last_accessed=accessed, created_at=created, now=NOW) == pytest.approx(recency, abs=1e-9)


def test_a_rank_is_four_fifths_nearness_and_one_fifth_recency() -> None:
    """http W-46: rank = .8·(1-dist) + .2·r."""
    assert Recency().rank(distance=0.25, recency=0.5) == pytest.approx(0.7)
    assert Recency(semantic_weight=0, recency_weight=1).rank(distance=0.0, recency=0.25) == 0.25


def test_weights_that_add_up_to_more_than_one_are_clamped() -> None:
    far = Recency(freshness_weight=3, novelty_weight=2)
    assert far.of(last_accessed=NOW, created_at=NOW, now=NOW) == 1.0
