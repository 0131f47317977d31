"""How full a model's context window is, and what of a conversation fits it: views that change nothing.

Source: R-004-8, R-004-10.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from projections.entries import Entry
from projections.strategies.progressive import Progressive
from projections.transcript import group_units

_ALL: Final = 100


class ContextUsage(msgspec.Struct, frozen=True):
    """Percentages: of the context window, and of what may be there before a summary is made."""

    used: float
    until_summary: float


def context_usage(config: Progressive, entries: Sequence[Entry]) -> ContextUsage | None:
    """Return how full the window of *config* is with *entries*; none if it names neither window nor model.

    At 100 % until the summary none is made yet: it takes one token more.

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
    """Return *entries*, oldest first, less the oldest units until *limit* tokens are left; the newest stays.

    An open call stays too, as everywhere (R-GEN-9).

    Source: R-004-10.
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
    """Return the last *count* entries by when they were said; all, in that order, if it is not positive.

    The one view by timestamp. Source: R-004-10, http W-17.
    """
    ordered = sorted(entries, key=lambda entry: (entry.moment, entry.version))
    return tuple(ordered[-count:] if count > 0 else ordered)
