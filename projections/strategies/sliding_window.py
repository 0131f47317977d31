"""Window strategy ``sliding_window``: preserved entries, and the newest that fit. Source: R-002-1 … R-002-3.

It is a fold over the batches of the current entries: when a batch exceeds the limit, the oldest units are pruned
until the target is met; then nothing is pruned until the limit is exceeded again.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal, Self

import msgspec
from pydantic import Field, model_validator

from projections.entries import Entry
from projections.strategies.base import FieldError, Hints, Ratio, StateView, WindowConfig, WindowStrategy
from projections.strategies.full import place
from projections.strategies.preserving import ALWAYS, Preserve, TriggerLimit, is_preserved
from projections.summaries import Summary
from projections.tool_pairs import Pairing
from projections.window import Window


class SlidingWindow(WindowConfig, TriggerLimit):
    """The limit, the target of pruning, and what is never pruned."""

    type: Literal["sliding_window"] = "sliding_window"
    target_ratio: Ratio | None = Field(default=None, gt=0, lt=1)
    preserve: Preserve = ALWAYS

    @model_validator(mode="after")
    def _target_is_below(self) -> Self:
        if self.target_ratio is not None and self.target_ratio >= self.compression_threshold:
            raise FieldError("target_ratio", "must be below compression_threshold")
        return self

    @property
    def token_limit(self) -> int:
        """The tokens above which it acts."""
        return int(self.limit)

    @property
    def target(self) -> int:
        """The tokens left after pruning, at most; by default 0.7 of the budget, or 7/8 of a low limit."""
        ratio = Fraction(self.target_ratio) if self.target_ratio is not None else None
        if ratio is None:
            threshold = Fraction(self.compression_threshold)
            ratio = Fraction(7, 10) if threshold > Fraction(7, 10) else Fraction(7, 8) * threshold
        return int(self.max_tokens * ratio)


def window(config: SlidingWindow, state: StateView, hints: Hints) -> Window:
    """Return what the fold leaves, in position order."""
    items: list[Summary | Entry] = sorted((*state.summaries.live, *state.window.entries), key=place)
    chosen: list[Summary | Entry] = []
    tokens = newest = 0
    units: _Units | None = None
    for batch in _batches(items):
        chosen.extend(batch)
        tokens += sum(item.tokens for item in batch)
        newest = max([newest, *(item.version for item in batch if isinstance(item, Entry))])
        if config.is_near(tokens):
            units = units or _Units(state.window.entries)
            chosen = _prune(config, chosen, units, newest)
            tokens = sum(item.tokens for item in chosen)
    if units is not None:
        chosen = units.whole(chosen)
        tokens = sum(item.tokens for item in chosen)
    return Window(tuple(chosen), tokens, dropped=len(items) - len(chosen))


class _Group(msgspec.Struct, frozen=True):
    """What is left of a unit, or a summary."""

    items: tuple[Summary | Entry, ...]
    open: bool = False

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.items)


class _Units:
    """The units of all entries, pruned or not: a result belongs to its call even if one of them was pruned."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._pairing = Pairing(entries)
        self._home = {entry.version: number for number, unit in enumerate(self._pairing.units) for entry in unit}

    def groups(self, chosen: Sequence[Summary | Entry], newest: int) -> list[_Group]:
        """Return the groups pruned as a whole, as of the entry at version *newest*, by their first items."""
        members: dict[int, list[Entry]] = {}
        for item in chosen:
            if isinstance(item, Entry):
                members.setdefault(self._home[item.version], []).append(item)
        groups = [_Group(tuple(unit), self._pairing.is_open(unit, at=newest)) for unit in members.values()]
        groups += [_Group((item,)) for item in chosen if isinstance(item, Summary)]
        return sorted(groups, key=lambda group: place(group.items[0]))

    def whole(self, chosen: Sequence[Summary | Entry]) -> list[Summary | Entry]:
        """Return *chosen* without units that were partly pruned: a result is only shown with its call (R-GEN-9)."""
        shown = {item.version for item in chosen if isinstance(item, Entry)}
        split = [unit for unit in self._pairing.units if not all(entry.version in shown for entry in unit)]
        alone = {entry.version for unit in split for entry in unit}
        return [item for item in chosen if isinstance(item, Summary) or item.version not in alone]


def _batches(items: Sequence[Summary | Entry]) -> Iterator[list[Summary | Entry]]:
    """Yield the items of each batch; a summary is a batch of its own."""
    for write_id, batch in groupby(items, key=lambda item: item.write_id if isinstance(item, Entry) else None):
        if write_id is None:
            yield from ([item] for item in batch)
        else:
            yield list(batch)


def _prune(
    config: SlidingWindow, chosen: Sequence[Summary | Entry], units: _Units, newest_version: int
) -> list[Summary | Entry]:
    """Return the preserved units, the newest, open calls, and others from the newest back while they fit."""
    groups = units.groups(chosen, newest_version)
    newest = max(groups, key=lambda group: place(group.items[-1]))
    staying = [
        group is newest or group.open or any(is_preserved(item, config.preserve) for item in group.items)
        for group in groups
    ]
    tokens = sum(group.tokens for group, stays in zip(groups, staying, strict=True) if stays)
    for index in reversed(range(len(groups))):
        if staying[index]:
            continue
        tokens += groups[index].tokens
        if tokens > config.target:
            break
        staying[index] = True
    shown = (item for group, stays in zip(groups, staying, strict=True) if stays for item in group.items)
    return sorted(shown, key=place)


STRATEGY = WindowStrategy("sliding_window", SlidingWindow, window)
