"""Interleaved measurement: each round runs every contender in turn, so that noise affects all of them equally."""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec


class Result(msgspec.Struct, frozen=True):
    """A line of the table: our figure divided by the peer's, and the goal."""

    workload: str
    ratio: float
    goal: str
    met: bool | None
    note: str = ""


Work = Callable[[], Awaitable[object]]


async def interleaved(contenders: Mapping[str, Work], *, rounds: int, each: int) -> dict[str, list[float]]:
    """Return each contender's median seconds per call, one figure per round."""
    medians: dict[str, list[float]] = {name: [] for name in contenders}
    for work in contenders.values():
        await work()  # warm
    for _ in range(rounds):
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(each):
            for name, work in contenders.items():
                started = time.perf_counter()
                await work()
                taken[name].append(time.perf_counter() - started)
        for name, times in taken.items():
            medians[name].append(statistics.median(times))
    return medians


def ratio(medians: Mapping[str, list[float]], ours: str, peer: str) -> float:
    """Return the median over the rounds of our figure divided by the peer's of the same round."""
    return statistics.median(first / other for first, other in zip(medians[ours], medians[peer], strict=True))


def at_most(workload: str, value: float, limit: float | None, note: str = "") -> Result:
    """Return a result whose ratio should be at most *limit*."""
    return Result(workload, value, f"≤ {limit:g}" if limit else "", value <= limit if limit else None, note)


def at_least(workload: str, value: float, limit: float | None, note: str = "") -> Result:
    """Return a result whose ratio should be at least *limit*."""
    return Result(workload, value, f"≥ {limit:g}" if limit else "", value >= limit if limit else None, note)
