"""Window strategy ``sliding_window``: what is preserved, and the newest that fits. Source: R-002-1 … R-002-3.

It is a fold over the batches of what is there now: when a batch leaves more than the limit, the oldest units go
until the target is met, and then nothing goes until the limit is passed again.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal, Self

import msgspec
from pydantic import Field, model_validator

from projections.entries import Entry
from projections.strategies.base import FieldError, Hints, Ratio, StateView, WindowConfig, WindowStrategy
from projections.strategies.full import place
from projections.strategies.preserving import ALWAYS, Limit, Preserve, is_preserved
from projections.summaries import Summary
from projections.transcript import group_units
from projections.window import Window


class SlidingWindow(WindowConfig, Limit):
    """The limit, how far it is pruned, and what is never pruned."""

    type: Literal["sliding_window"] = "sliding_window"
    target_ratio: Ratio | None = Field(default=None, gt=0, lt=1)
    preserve: Preserve = ALWAYS

    @model_validator(mode="after")
    def _target_is_below(self) -> Self:
        if self.target_ratio is not None and self.target_ratio >= self.compression_threshold:
            raise FieldError("target_ratio", "must be below compression_threshold")
        return self

    @property
    def target(self) -> int:
        """Tokens down to which is pruned; by default 0.7 of the budget, or 7/8 of a low limit."""
        ratio = Fraction(self.target_ratio) if self.target_ratio is not None else None
        if ratio is None:
            threshold = Fraction(self.compression_threshold)
            ratio = Fraction(7, 10) if threshold > Fraction(7, 10) else Fraction(7, 8) * threshold
        return int(self.max_tokens * ratio)


def window(config: SlidingWindow, state: StateView, hints: Hints) -> Window:
    """Return what the fold keeps, in position order."""
    items: list[Summary | Entry] = sorted((*state.summaries.live, *state.window.entries), key=place)
    kept: list[Summary | Entry] = []
    tokens = 0
    for batch in _batches(items):
        kept.extend(batch)
        tokens += sum(item.tokens for item in batch)
        if config.is_near(tokens):
            kept = _prune(config, kept)
            tokens = sum(item.tokens for item in kept)
    if len(kept) < len(items):
        kept = _whole(kept, state)
        tokens = sum(item.tokens for item in kept)
    return Window(tuple(kept), tokens, over_budget=config.is_near(tokens), dropped=len(items) - len(kept))


def _whole(kept: Sequence[Summary | Entry], state: StateView) -> list[Summary | Entry]:
    """Return *kept* without results that came when their call had been pruned: shown only with it (R-GEN-9)."""
    there = {item.version for item in kept if isinstance(item, Entry)}
    alone = {
        entry.version
        for unit in group_units(state.window.entries)
        if not all(entry.version in there for entry in unit.entries)
        for entry in unit.entries
    }
    return [item for item in kept if isinstance(item, Summary) or item.version not in alone]


def _batches(items: Sequence[Summary | Entry]) -> Iterator[list[Summary | Entry]]:
    """Yield what came in one batch; a summary, whose entries have left, is one of its own before the next."""
    for write_id, batch in groupby(items, key=lambda item: item.write_id if isinstance(item, Entry) else None):
        if write_id is None:
            yield from ([item] for item in batch)
        else:
            yield list(batch)


class _Group(msgspec.Struct, frozen=True):
    """A unit or a summary."""

    items: tuple[Summary | Entry, ...]
    open: bool = False

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.items)


def _groups(kept: Sequence[Summary | Entry]) -> list[_Group]:
    """Return what is kept or pruned as one, in the order of their oldest items."""
    units = group_units(item for item in kept if isinstance(item, Entry))
    groups = [_Group(unit.entries, unit.open) for unit in units]
    groups += [_Group((item,)) for item in kept if isinstance(item, Summary)]
    return sorted(groups, key=lambda group: place(group.items[0]))


def _prune(config: SlidingWindow, kept: Sequence[Summary | Entry]) -> list[Summary | Entry]:
    """Return the preserved units, the newest, open calls, and others from the newest back while they fit."""
    groups = _groups(kept)
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
