"""The token limit of a request, and the memory config of new sessions. Source: http W-12, W-39."""

from decimal import Decimal
from typing import Annotated, Final, TypeAlias

import msgspec
from fastapi import Depends, Query
from pydantic import Field

from ledger.errors import InvalidInput
from ledger.server.service_settings import ServiceSettings
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from projections.model_windows import NAMED
from projections.strategies.progressive import DEFAULT_WINDOW, LARGEST_WINDOW

_KEEP_RATIO: Final = Decimal("0.4")


class ContextLimit(msgspec.Struct, frozen=True):
    """The model of a request: its window in tokens, its name, both, or neither."""

    context_window: int | None = None
    model_name: str | None = None

    @property
    def given(self) -> bool:
        """Whether the request names a window or a model."""
        return self.context_window is not None or self.model_name is not None

    @property
    def tokens(self) -> int:
        """The limit in tokens: the window, else that of the model, else 16,000."""
        if self.context_window is not None:
            return self.context_window
        return NAMED.get(self.model_name or "", DEFAULT_WINDOW)


#: A window in tokens from a client; 0 and less mean none.
ContextWindow: TypeAlias = Annotated[int, Field(le=LARGEST_WINDOW)]


def limit_of(model_name: str | None, context_window_max: int | None) -> ContextLimit:
    """Return the token limit of a request.

    Raises:
        InvalidInput: ``unknown_model`` (http W-42).
    """
    if model_name is not None and model_name not in NAMED:
        raise InvalidInput("unknown_model", "no model of this name is known here", field="model_name")
    return ContextLimit(context_window_max or None, model_name)


async def _limit_of_query(
    model_name: Annotated[str | None, Query(max_length=100)] = None,
    context_window_max: Annotated[ContextWindow | None, Query()] = None,
) -> ContextLimit:
    return limit_of(model_name, context_window_max)


LimitOf: TypeAlias = Annotated[ContextLimit, Depends(_limit_of_query)]


def new_session_config(settings: ServiceSettings) -> MemoryConfig:
    """Return the memory config of new sessions: profile ``working_memory`` under the service's settings."""
    threshold = settings.summarization_threshold
    own: dict[str, object] = {
        "threshold": str(threshold),
        "keep_ratio": str(min(_KEEP_RATIO, threshold / 2) if threshold <= _KEEP_RATIO else _KEEP_RATIO),
        "generation_model": settings.generation_model,
        "enabled": settings.enable_working_memory_summarization,
    }
    if settings.progressive_summarization_prompt is not None:
        own["prompt"] = settings.progressive_summarization_prompt
    return memory_config.load({"profile": "working_memory", **own})
