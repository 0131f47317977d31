"""All strategies. To add a strategy: one file beside these, one line here.

Strategies of other packages are found by the entry point ``memory_ledger.strategies``.
"""

from projections.strategies import (
    full,
    max_tokens,
    neuralyzer,
    progressive,
    recall,
    rolling,
    rolling_blocks,
    sliding_window,
    summarization,
    summarizer,
    token_threshold,
)
from projections.strategies.base import CompactionStrategy, WindowStrategy
from projections.strategies.plugins import installed

_BUILT_IN: tuple[WindowStrategy | CompactionStrategy, ...] = (
    full.STRATEGY,
    rolling.STRATEGY,
    sliding_window.STRATEGY,
    max_tokens.STRATEGY,
    recall.STRATEGY,
    token_threshold.STRATEGY,
    rolling_blocks.STRATEGY,
    summarization.STRATEGY,
    summarizer.STRATEGY,
    neuralyzer.STRATEGY,
    progressive.STRATEGY,
)
_ALL = (*_BUILT_IN, *installed(taken={strategy.type for strategy in _BUILT_IN}))

WINDOWS: dict[str, WindowStrategy] = {item.type: item for item in _ALL if isinstance(item, WindowStrategy)}
COMPACTIONS: dict[str, CompactionStrategy] = {item.type: item for item in _ALL if isinstance(item, CompactionStrategy)}
