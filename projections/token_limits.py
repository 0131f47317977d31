"""A window cut to the limit of a model: the oldest units are left out first, as a whole. Source: http W-43, W-68."""

import msgspec

from projections.paged_entries import PagedEntries
from projections.summaries import Summary
from projections.tool_pairs import group_units
from projections.window import Window


def fitted(window: Window, limit: int | None) -> Window:
    """Return *window* with its oldest units left out until its tokens are at most *limit*; at least one stays.

    Summaries and pinned entries stay, and count. None, or a *limit* below 1, means no limit.
    """
    if limit is None or limit < 1:
        return window
    if window.tokens <= limit:
        return msgspec.structs.replace(window, limit=limit)
    in_order = sorted(window.entries, key=lambda entry: entry.version)
    units = [unit for unit in group_units(in_order, apart=window.apart) if not unit.entries[0].pinned]
    left_out: set[int] = set()
    tokens = window.tokens
    for unit in units[:-1]:
        if tokens <= limit:
            break
        left_out.update(entry.version for entry in unit.entries)
        tokens -= sum(entry.tokens for entry in unit.entries)
    return msgspec.structs.replace(
        window,
        items=tuple(item for item in window.items if isinstance(item, Summary) or item.version not in left_out),
        tokens=tokens,
        limit=limit,
        dropped=window.dropped + len(left_out),
        recalled=tuple(found for found in window.recalled if found[0] not in left_out),
    )


def hidden(window: Window, active: PagedEntries) -> int:
    """Return how many of the *active* entries *window* does not show; reads no content."""
    return len(active) - sum(active.has(entry.version) for entry in window.entries)
