"""How full the context window of a model is, and which part of a conversation fits: views that change nothing.

Source: R-004-8, R-004-10.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from projections.entries import Entry
from projections.strategies.progressive import Progressive
from projections.tool_pairs import group_units

_ALL: Final = 100


class ContextUsage(msgspec.Struct, frozen=True):
    """Percentages: of the context window, and of the tokens at which a summary is created."""

    used: float
    until_summary: float


def context_usage(config: Progressive, entries: Sequence[Entry]) -> ContextUsage | None:
    """Return how full the window of *config* is with *entries*; None if it names neither window nor model.

    At 100 % until the summary there is none yet: it takes one more token.

    Source: R-004-8.
    """
    if (config.context_window is None and config.model_name is None) or config.limit <= 0:
        return None
    if not entries:
        return ContextUsage(0.0, 0.0)
    tokens = sum(entry.tokens for entry in entries)
    return ContextUsage(_percent(tokens, config.limit), _percent(tokens, config.trigger_tokens))


def _percent(tokens: int, of: int) -> float:
    return float(min(Fraction(_ALL), Fraction(_ALL * tokens, of))) if of > 0 else float(_ALL)


def fitting(entries: Sequence[Entry], limit: int) -> tuple[Entry, ...]:
    """Return *entries*, oldest first, without the oldest units, so that at most *limit* tokens are left.

    The newest unit stays, and so do open calls (R-GEN-9). Source: R-004-10.
    """
    tokens = sum(entry.tokens for entry in entries)
    units = group_units(entries)
    newest = max(units, key=lambda unit: unit.last_version, default=None)
    dropped: set[int] = set()
    for unit in units:
        if tokens <= limit:
            break
        if unit is not newest and not unit.open:
            dropped.update(entry.version for entry in unit.entries)
            tokens -= unit.tokens
    return tuple(entry for entry in entries if entry.version not in dropped)


def most_recent(entries: Iterable[Entry], count: int) -> tuple[Entry, ...]:
    """Return the last *count* entries by their time; all, in that order, if *count* is not positive.

    This is the only view ordered by time. Source: R-004-10, http W-17.
    """
    ordered = sorted(entries, key=lambda entry: (entry.created_at, entry.version))
    return tuple(ordered[-count:] if count > 0 else ordered)
