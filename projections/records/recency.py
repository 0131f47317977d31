"""How recent a record is, and how this changes its rank. Pure. Source: http W-46."""

from datetime import datetime
from typing import Final

import msgspec

DAY_S: Final = 86_400.0
#: Half-lives after which nothing is left: a larger power would leave the range of doubles.
MOST_HALVINGS: Final = 1_000.0


class Recency(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of http W-46; half-lives in days, at least a thousandth."""

    freshness_weight: float = 0.6
    novelty_weight: float = 0.4
    half_life_last_access_days: float = 7.0
    half_life_created_days: float = 30.0
    semantic_weight: float = 0.8
    recency_weight: float = 0.2

    def of(self, *, last_accessed: datetime, created_at: datetime, now: datetime) -> float:
        """Return how recent a record is, 0 to 1; times in the future count as *now*."""
        fresh = halved(last_accessed, now, self.half_life_last_access_days)
        novel = halved(created_at, now, self.half_life_created_days)
        return min(1.0, max(0.0, self.freshness_weight * fresh + self.novelty_weight * novel))

    def rank(self, *, distance: float, recency: float) -> float:
        """Return the rank of a hit; higher is better."""
        return self.semantic_weight * (1 - distance) + self.recency_weight * recency


def halved(moment: datetime, now: datetime, half_life_days: float) -> float:
    """Return what is left now of a value that was 1 at *moment*."""
    halvings = max(0.0, (now - moment).total_seconds() / DAY_S) / half_life_days
    return float(2.0 ** -min(halvings, MOST_HALVINGS))
