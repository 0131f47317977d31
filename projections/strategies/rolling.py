"""Window strategy ``rolling``: the newest items, and the summaries of older blocks. Source: R-001-1 … R-001-9."""

from itertools import chain
from typing import Final, Literal

from pydantic import Field

from projections.entries import Entry
from projections.items import ItemUnit
from projections.paged_entries import PagedEntries
from projections.strategies.base import Hints, StateView, WindowConfig, WindowStrategy
from projections.summaries import Summary
from projections.tool_pairs import group_units
from projections.window import Window

#: How many entries before the oldest one that is shown may be the beginning of its answer: a window never reads all
#: that an assistant said in a row.
_LONGEST_BEGINNING: Final = 100


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
    groups = numbering.groups(state.window, first, last)
    return _with_whole_answers(state.window.entries, groups) if config.unit == "entry" else groups


def _with_whole_answers(active: PagedEntries, groups: list[tuple[Entry, ...]]) -> list[tuple[Entry, ...]]:
    """Return *groups* with what is missing of their answers: what came in an earlier write is another item (R-GEN-10).

    What is missing comes in the oldest group that has some of its answer.
    """
    homes = {entry.version: number for number, group in reversed([*enumerate(groups)]) for entry in group}
    oldest = begin = active.count_before(min(homes, default=0))
    while begin and oldest - begin < _LONGEST_BEGINNING and (active[begin].answers or active[begin].of_server_tool):
        begin -= 1
    entries = active[begin:]
    if len(entries) == len(homes):  # each of them is shown
        return groups
    missing: dict[int, list[Entry]] = {}
    for unit in group_units(entries):
        shown = [homes[entry.version] for entry in unit.entries if entry.version in homes]
        if shown and len(shown) < len(unit.entries):
            missing.setdefault(min(shown), []).extend(entry for entry in unit.entries if entry.version not in homes)
    return [
        tuple(sorted((*group, *missing[number]), key=lambda entry: entry.version)) if number in missing else group
        for number, group in enumerate(groups)
    ]


def window(config: Rolling, state: StateView, hints: Hints) -> Window:
    """Return pinned entries, then interactions and summaries, newest first unless chronological.

    The entries of one item are always in their original order.
    """
    pinned = state.window.all_pinned()
    groups = shown_items(config, state)
    summaries = list(state.summaries.live)
    items: list[Summary | Entry]
    if config.order == "newest_first":
        items = [*pinned, *chain.from_iterable(reversed(groups)), *reversed(summaries)]
    else:
        items = [*pinned, *summaries, *chain.from_iterable(groups)]
    shown = len(pinned) + sum(map(len, groups))
    return Window(
        tuple(items),
        sum([item.tokens for item in items]),
        dropped=len(state.window.entries) - shown,
    )


STRATEGY = WindowStrategy("rolling", Rolling, window)
