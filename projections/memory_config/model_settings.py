"""The settings of a memory config that decide what a model is asked, and which one."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from projections.memory_config.config import MemoryConfig
from projections.strategies.base import Config

#: The fields that name a model.
NAMES: Final = frozenset({"model", "generation_model"})
#: The other fields with which a model is asked: its prompts, its parameters, how often, and for how much.
_OTHERS: Final = frozenset(
    {
        "prompt",
        "system_prompt",
        "user_prompt_template",
        "instructions",
        "temperature",
        "enable_thinking",
        "cod_max_loops",
        "summary_target_words",
    }
)


class ModelSetting(msgspec.Struct, frozen=True):
    """A setting that has another value than its default, and its path in the config."""

    path: str
    name: str
    value: Any


def model_settings(config: MemoryConfig) -> Iterator[ModelSetting]:
    """Yield the settings of *config* that decide what a model is asked, except those with their default value."""
    parts: list[tuple[str, Config]] = [("summarizer", config.summarizer)]
    parts += [(f"compactions[{at}]", compaction) for at, compaction in enumerate(config.compactions)]
    for path, part in parts:
        for name, field in type(part).model_fields.items():
            if name in NAMES | _OTHERS and (value := getattr(part, name)) != field.default:
                yield ModelSetting(f"{path}.{name}", name, value)
