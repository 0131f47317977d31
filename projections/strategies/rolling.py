"""Window strategy ``rolling``: the newest items, and the summaries of older blocks. Source: R-001-1 … R-001-9."""

from typing import Literal

from pydantic import Field

from projections.entries import Entry
from projections.items import ItemUnit
from projections.strategies.base import Hints, StateView, WindowConfig, WindowStrategy
from projections.summaries import Summary
from projections.window import Window


class Rolling(WindowConfig):
    """How many items are shown, what an item is, and in which order the model sees them."""

    type: Literal["rolling"] = "rolling"
    size: int = Field(default=21, ge=1)
    unit: ItemUnit = "interaction"
    order: Literal["newest_first", "chronological"] = "newest_first"


def shown_items(config: Rolling, state: StateView) -> list[tuple[Entry, ...]]:
    """Return the active entries of the last ``size`` items, oldest item first.

    An open last interaction is one of them; with unit ``entry``, the tool and context entries after the last
    message are one more group (R-001-4).
    """
    numbering = state.items.numbering(config.unit)
    last = numbering.started
    first = max(1, last - config.size + (0 if config.unit == "entry" else 1))
    return numbering.groups(state.window, first, last)


def window(config: Rolling, state: StateView, hints: Hints) -> Window:
    """Return pinned entries, then interactions and summaries, newest first unless chronological.

    The entries of one item are always in their original order.
    """
    pinned = state.window.all_pinned()
    groups = shown_items(config, state)
    summaries = list(state.summaries.live)
    items: list[Summary | Entry]
    if config.order == "newest_first":
        items = [*pinned, *(entry for group in reversed(groups) for entry in group), *reversed(summaries)]
    else:
        items = [*pinned, *summaries, *(entry for group in groups for entry in group)]
    shown = len(pinned) + sum(len(group) for group in groups)
    return Window(
        tuple(items),
        sum(item.tokens for item in items),
        dropped=len(state.window.entries) - shown,
    )


STRATEGY = WindowStrategy("rolling", Rolling, window)
