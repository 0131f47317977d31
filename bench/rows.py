"""A line of the report: what is compared, by which workload, and the goal of each part."""

from collections.abc import Mapping

import msgspec


class Goal(msgspec.Struct, frozen=True):
    """A bound on a figure: at most *number*, or with *least* at least that."""

    number: float
    least: bool = False
    unit: str = ""

    def is_met(self, value: float) -> bool:
        """Return whether *value* is within the bound."""
        return value >= self.number if self.least else value <= self.number

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.number:g}{self.unit}"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line: *parts* are its figures with their goals; a workload returns the figures under *key*."""

    key: str
    workload: str
    name: str
    parts: Mapping[str, Goal | None]

    @property
    def title(self) -> str:
        """The name, and its parts if there are several."""
        return self.name if len(self.parts) == 1 else f"{self.name}: {' / '.join(self.parts)}"


#: What a workload measured: by key of a row, the figure of each part.
Figures = dict[str, dict[str, float]]
