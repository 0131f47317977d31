"""The main results of a backtest, in sentences. Pure."""

from collections.abc import Mapping, Sequence

from ledger.replay.backtest.totals import Row
from projections.memory_config.config import MemoryConfig


def findings(rows: Sequence[Row], configs: Mapping[str, MemoryConfig]) -> tuple[str, ...]:
    """Return which config shows the fewest tokens, which keeps most evidence for few, and which never compact."""
    found = []
    most = max(rows, key=lambda row: row.total_shown)
    least = min(rows, key=lambda row: row.total_shown)
    if least.total_shown < most.total_shown:
        share = least.total_shown / most.total_shown
        found.append(f"{least.config} shows the fewest tokens: {share:.0%} of what {most.config} shows.")
    thrifty = [row for row in rows if row.in_window is not None and 2 * row.total_shown <= most.total_shown > 0]
    if thrifty:
        best = max(thrifty, key=lambda row: (row.in_window or 0, -row.total_shown))
        found.append(
            f"Of the configs that show at most half of what {most.config} shows, {best.config} keeps the most "
            f"evidence in the window: {best.in_window:.1%}."
        )
    idle = [row.config for row in rows if configs[row.config].compactions and not row.compactions]
    if idle:
        found.append(f"Never compacted anything in these sessions: {', '.join(idle)}.")
    return tuple(found)
