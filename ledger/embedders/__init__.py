"""Who turns texts into vectors: a model behind an OpenAI-compatible API."""

from typing import TYPE_CHECKING

from ledger.settings import Settings

if TYPE_CHECKING:
    from ledger.embedders.openai import OpenAIEmbedder


def configured_embedder(settings: Settings) -> "OpenAIEmbedder | None":
    """Return the model the settings name, to be closed by the caller; none without one."""
    if settings.embedder_model is None:
        return None
    from ledger.embedders.openai import OpenAIEmbedder  # noqa: PLC0415 - an extra

    return OpenAIEmbedder(model=settings.embedder_model, base_url=settings.embedder_base_url)
