"""Window strategy ``full``: everything that is active. Source: R-WIN-2."""

from typing import Literal

from projections.entries import Entry
from projections.strategies.base import Hints, StateView, WindowConfig, WindowStrategy
from projections.summaries import Summary
from projections.window import Window


class Full(WindowConfig):
    """No fields."""

    type: Literal["full"] = "full"


def window(config: Full, state: StateView, hints: Hints) -> Window:
    """Return all live summaries and active entries in position order, a summary before an entry at the same place."""
    items: list[Summary | Entry] = [*state.summaries.live, *state.window.entries]
    items.sort(key=place)
    return Window(tuple(items), tokens(state))


def tokens(state: StateView) -> int:
    """Return the tokens of all live summaries and active entries."""
    return state.window.tokens + state.summaries.tokens


def place(item: Summary | Entry) -> tuple[int, int]:
    """Return the sort key of position order: a summary has the place of the oldest entry it covers."""
    return (item.first_version, 0) if isinstance(item, Summary) else (item.version, 1)


STRATEGY = WindowStrategy("full", Full, window, tokens)
