"""A window strategy of another package: the newest units, whatever they cost."""

from typing import Literal

from pydantic import Field

from projections.strategies.base import Hints, StateView, WindowConfig, WindowStrategy
from projections.tool_pairs import group_units
from projections.window import Window


class NewestUnits(WindowConfig):
    """How many units are shown."""

    type: Literal["newest_units"] = "newest_units"
    units: int = Field(default=3, ge=1)


def window(config: NewestUnits, state: StateView, hints: Hints) -> Window:
    """Return the entries of the newest units in position order."""
    newest = group_units(state.window.entries)[-config.units :]
    items = tuple(sorted((entry for unit in newest for entry in unit.entries), key=lambda entry: entry.version))
    return Window(items, sum(entry.tokens for entry in items), dropped=len(state.window.entries) - len(items))


STRATEGY = WindowStrategy("newest_units", NewestUnits, window)
