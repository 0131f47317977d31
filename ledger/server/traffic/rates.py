"""Token buckets, one for each caller, in bounded memory. Source: trust S-9."""

import math
from collections import OrderedDict
from typing import Final

from ledger.errors import RateLimited

MOST_KEYS: Final = 10_000


class Rates:
    """An allowance of *most* for each key, which fills by *per_second*; 0 means no limit.

    If there are too many keys, the one that spent longest ago is dropped.
    """

    def __init__(self, what: str, *, per_second: float, most: float, most_keys: int = MOST_KEYS) -> None:
        self._what = what
        self._per_second = per_second
        self._most = float(most)
        self._most_keys = most_keys
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now_s: float) -> None:
        """Spend 1 from the allowance of *key* at *now_s*, the time of a monotonic clock.

        Raises:
            RateLimited: less than 1 is left.
        """
        self._require(key, now_s, 1)
        self.spend(key, 1, now_s)

    def check(self, key: str, now_s: float) -> None:
        """Refuse *key* while its allowance is used up.

        Raises:
            RateLimited: the allowance is below 0.
        """
        self._require(key, now_s, 0)

    def spend(self, key: str, amount: float, now_s: float) -> None:
        """Spend *amount* from the allowance of *key*, which may fall below 0."""
        if not self._per_second or not amount:
            return
        self._levels[key] = (self._level(key, now_s) - amount, now_s)
        self._levels.move_to_end(key)
        if len(self._levels) > self._most_keys:
            self._levels.popitem(last=False)

    def _require(self, key: str, now_s: float, least: float) -> None:
        if not self._per_second:
            return
        missing = least - self._level(key, now_s)
        if missing > 0:
            raise RateLimited(max(1, math.ceil(missing / self._per_second)), self._what)

    def _level(self, key: str, now_s: float) -> float:
        level, since_s = self._levels.get(key, (self._most, now_s))
        return min(self._most, level + (now_s - since_s) * self._per_second)

    def __len__(self) -> int:
        return len(self._levels)
