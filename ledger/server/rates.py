"""How many requests each caller may send, in bounded memory. Source: trust S-9."""

import math
from collections import OrderedDict
from typing import Final

from ledger.errors import RateLimited

MOST_KEYS: Final = 10_000


class Rates:
    """A bucket of *burst* requests for each key, that fills by *per_second*; 0 is no limit.

    Of more keys than fit, the longest silent one is forgotten: its bucket is full by then, or soon.
    """

    def __init__(self, *, per_second: float, burst: int, most_keys: int = MOST_KEYS) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._most = most_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now_s: float) -> None:
        """Count a request of *key* at *now_s* of a clock that never goes back.

        Raises:
            RateLimited: the bucket is empty; it says when to try again.
        """
        if not self._per_second:
            return
        level, since = self._buckets.pop(key, (self._burst, now_s))
        level = min(self._burst, level + (now_s - since) * self._per_second)
        if level < 1:
            self._buckets[key] = (level, now_s)
            raise RateLimited(math.ceil((1 - level) / self._per_second))
        self._buckets[key] = (level - 1, now_s)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)

    def __len__(self) -> int:
        return len(self._buckets)
