"""The strategies there are. To add one: one file beside these, one line here."""

from projections.strategies import full, rolling, rolling_blocks, token_threshold
from projections.strategies.base import CompactionStrategy, WindowStrategy

WINDOWS: dict[str, WindowStrategy] = {
    strategy.type: strategy
    for strategy in (
        full.STRATEGY,
        rolling.STRATEGY,
    )
}

COMPACTIONS: dict[str, CompactionStrategy] = {
    strategy.type: strategy
    for strategy in (
        token_threshold.STRATEGY,
        rolling_blocks.STRATEGY,
    )
}
