"""Window strategy ``max_tokens``: the newest complete interactions within a budget. Source: R-003-2 … R-003-5."""

from typing import ClassVar, Literal

from projections.entries import Entry
from projections.strategies.base import Hints, StateView, WindowConfig, WindowStrategy
from projections.strategies.full import place
from projections.strategies.interactions import Conditions, newest_first, passes
from projections.summaries import Summary
from projections.window import Window


class MaxTokens(WindowConfig):
    """The budget, below 0 for nothing, and the conditions for an interaction to be shown."""

    budgets: ClassVar[tuple[str, ...]] = ("memory_max_tokens",)
    type: Literal["max_tokens"] = "max_tokens"
    memory_max_tokens: int = 10_000
    conditions: Conditions = ()

    @property
    def token_limit(self) -> int:
        """The budget, at least 0."""
        return max(0, self.memory_max_tokens)


def window(config: MaxTokens, state: StateView, hints: Hints) -> Window:
    """Return pinned entries, the current turn, live summaries, and interactions from the newest back while they fit.

    An interaction that does not meet the conditions is skipped and uses no budget.
    """
    shown: list[Summary | Entry] = list(state.window.all_pinned())
    if config.memory_max_tokens >= 0:
        shown.extend(state.summaries.live)
    left = config.memory_max_tokens
    from_end = -1
    for interaction in newest_first(state):
        if not interaction.closed:
            shown.extend(interaction.entries)
            continue
        from_end += 1
        if not passes(config.conditions, interaction, from_end):
            continue
        if interaction.tokens > left:
            break
        left -= interaction.tokens
        shown.extend(interaction.entries)
    items = tuple(sorted(shown, key=place))
    entries = sum(isinstance(item, Entry) for item in items)
    return Window(items, sum(item.tokens for item in items), dropped=len(state.window.entries) - entries)


STRATEGY = WindowStrategy("max_tokens", MaxTokens, window)
