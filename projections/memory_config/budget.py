"""The budget of a window: how many tokens each part of it takes, and how many more than the limit. Source: R-WIN-4."""

from collections.abc import Container
from typing import Literal, TypeAlias

import msgspec

from projections.entries import Entry
from projections.memory_config.config import MemoryConfig
from projections.strategies.preserving import names_of
from projections.window import Window

#: The part of a budget that a shown entry counts for.
EntryPart: TypeAlias = Literal["system", "pinned", "current_turn", "history", "recalled"]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a window by part; each shown item is in exactly one.

    *limit* is that of the config, less what it reserves; None if it has none.

    *system* are system instructions and messages, *pinned* other entries of a kind that the config preserves,
    *current_turn* the entries of an unfinished interaction, *recalled* what a search brought back, *history* the rest.
    """

    system: int = 0
    pinned: int = 0
    current_turn: int = 0
    history: int = 0
    summaries: int = 0
    recalled: int = 0
    knowledge: int = 0
    limit: int | None = None

    @property
    def tokens(self) -> int:
        """The sum of the parts."""
        parts = (self.system, self.pinned, self.current_turn, self.history)
        return sum(parts) + self.summaries + self.recalled + self.knowledge

    @property
    def excess(self) -> int:
        """How many tokens more than the limit are shown; 0 without a limit."""
        return 0 if self.limit is None else max(0, self.tokens - self.limit)

    @property
    def over_budget(self) -> bool:
        """Whether more tokens are shown than the limit."""
        return self.excess > 0


def budget_of(window: Window, config: MemoryConfig, current_turn: Container[int] = ()) -> Budget:
    """Return the budget of *window*; the limit is the smallest of the config's and the reader's.

    *current_turn* are the versions of the entries of an unfinished interaction.
    """
    limits = [limit for limit in (config.token_limit, window.limit) if limit is not None]
    preserved = config.preserved
    recalled = {version for version, _ in window.recalled}
    parts: dict[EntryPart, int] = {"system": 0, "pinned": 0, "current_turn": 0, "history": 0, "recalled": 0}
    for entry in window.entries:
        parts[part_of(entry, recalled, current_turn, preserved)] += entry.tokens
    return Budget(
        **parts,
        summaries=sum(summary.tokens for summary in window.summaries),
        knowledge=window.knowledge_tokens,
        limit=min(limits, default=None),
    )


def limit_path(config: MemoryConfig) -> str | None:
    """Return the path of the field of *config* that sets its token limit, such as ``window.max_tokens``; None if none.

    Of a limit that follows from several fields, it is the one in tokens.
    """
    for path, given in config.parts:
        part = config.effective(given)
        if config.token_limit is not None and part.token_limit == config.token_limit:
            values = {name: value for name in part.budgets if (value := getattr(part, name))}
            fields = sorted(values, key=lambda name: values[name] != part.token_limit)
            less = " less reserve_tokens" if config.reserve_tokens else ""
            return (f"{path}.{fields[0]}" if fields else path) + less
    return None


def part_of(
    entry: Entry, recalled: Container[int], current_turn: Container[int], preserved: frozenset[str]
) -> EntryPart:
    """Return the part of the budget that a shown entry counts for."""
    if entry.pinned:
        return "system"
    if entry.version in recalled:
        return "recalled"
    if entry.version in current_turn:
        return "current_turn"
    return "history" if not preserved or names_of(entry).isdisjoint(preserved) else "pinned"
