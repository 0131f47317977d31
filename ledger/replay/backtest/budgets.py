"""A memory config with another token budget, for the curve of evidence kept against tokens shown. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig

BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
#: Fields that limit the tokens shown; the first that is present counts.
_IN_WINDOW: Final = ("memory_max_tokens", "max_tokens")
_IN_COMPACTION: Final = ("max_tokens", "context_window", "interaction_threshold_tokens")


def with_budget(config: MemoryConfig, tokens: int) -> MemoryConfig | None:
    """Return *config* with a budget of *tokens*; None if nothing in it counts tokens.

    It sets the limit of the window, else the limit at which the first compaction starts.
    """
    raw = memory_config.dump(config)
    window = _limited(raw["window"], _IN_WINDOW, tokens)
    if window is not None:
        return memory_config.load({**raw, "window": window})
    for place, compaction in enumerate(raw["compactions"]):
        changed = _limited(compaction, _IN_COMPACTION, tokens)
        if changed is not None:
            others = [*raw["compactions"][:place], changed, *raw["compactions"][place + 1 :]]
            return memory_config.load({**raw, "compactions": others})
    return None


def _limited(strategy: Mapping[str, Any], fields: tuple[str, ...], tokens: int) -> dict[str, Any] | None:
    name = next((name for name in fields if name in strategy), None)
    if name is None:
        return None
    changed = {**strategy, name: tokens}
    if name == "interaction_threshold_tokens":
        changed["interaction_threshold_qty"] = -1
    return changed
