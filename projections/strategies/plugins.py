"""Strategies of other packages: each entry point in ``memory_ledger.strategies`` names a strategy object."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Final

from projections.strategies.base import CompactionStrategy, WindowStrategy

GROUP: Final = "memory_ledger.strategies"


def installed(*, taken: set[str]) -> Iterator[WindowStrategy | CompactionStrategy]:
    """Yield the installed strategies, by the names of their entry points.

    Raises:
        TypeError: an entry point names something that is not a strategy.
        ValueError: its type is *taken*.
    """
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        strategy = point.load()
        if not isinstance(strategy, WindowStrategy | CompactionStrategy):
            raise TypeError(f"the entry point {point.name!r} of {GROUP} must name a strategy")
        if strategy.type in taken:
            raise ValueError(f"the entry point {point.name!r} of {GROUP} adds a second strategy {strategy.type!r}")
        taken = taken | {strategy.type}
        yield strategy
