"""Interleaved measurement: each round runs every contender, so that noise affects all of them equally."""

import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol, Self, TypeAlias

#: Prepares a call and returns it. Only the call itself is measured, when it is awaited.
Work: TypeAlias = Callable[[], Awaitable[object]]
#: By contender: one figure for each round.
Rounds: TypeAlias = dict[str, list[float]]

_MOST_S = 90.0  # a slow contender gets fewer rounds, so that a run ends


class Meter(Protocol):
    """Counts seconds of some kind."""

    def seconds(self) -> float:
        """Return the seconds so far."""
        ...


async def latencies(contenders: Mapping[str, Work], *, rounds: int, each: int, most_s: float = _MOST_S) -> Rounds:
    """Return each contender's median seconds per call, one figure per round; they take turns call by call."""
    medians: Rounds = {name: [] for name in contenders}
    started = time.perf_counter()
    for work in contenders.values():
        await work()  # warm
    for _ in range(rounds):
        taken: Rounds = {name: [] for name in contenders}
        for turn in range(each):
            for name in _order(contenders, turn):
                call = contenders[name]()
                before = time.perf_counter()
                await call
                taken[name].append(time.perf_counter() - before)
        for name, times in taken.items():
            medians[name].append(statistics.median(times))
        if time.perf_counter() - started > most_s:
            break
    return medians


async def cpu_seconds(contenders: Mapping[str, Work], meter: Meter, *, rounds: int, each: int) -> Rounds:
    """Return each contender's CPU seconds per call, one figure per round; they take turns block by block."""
    figures: Rounds = {name: [] for name in contenders}
    for work in contenders.values():
        await work()  # warm
    for turn in range(rounds):
        for name in _order(contenders, turn):
            calls = [contenders[name]() for _ in range(each)]
            before = meter.seconds()
            for call in calls:
                await call
            figures[name].append((meter.seconds() - before) / each)
    return figures


def _order(contenders: Mapping[str, Work], turn: int) -> list[str]:
    """Return the contenders, another first each turn, so that none always follows the same one."""
    names = list(contenders)
    first = turn % len(names)
    return names[first:] + names[:first]


class Median(float):
    """The median of the figures of some rounds, with the smallest and the largest of them."""

    low: float
    high: float

    @classmethod
    def of(cls, rounds: Iterable[float]) -> Self:
        """Return that of *rounds*, at least one."""
        figures = sorted(rounds)
        found = cls(statistics.median(figures))
        found.low, found.high = figures[0], figures[-1]
        return found


def ratio(figures: Mapping[str, list[float]], ours: str, peer: str) -> float:
    """Return the `Median` over the rounds of our figure divided by the peer's of the same round."""
    return Median.of(first / other for first, other in zip(figures[ours], figures[peer], strict=True))
