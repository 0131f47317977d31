"""Embedders: a model behind an OpenAI-compatible API turns texts into vectors."""

from typing import TYPE_CHECKING

from ledger.settings import Settings

if TYPE_CHECKING:
    from ledger.embedders.openai import OpenAIEmbedder


def configured_embedder(settings: Settings) -> "OpenAIEmbedder | None":
    """Return the model that the settings name, or None; the caller closes it."""
    if settings.embedder_model is None:
        return None
    from ledger.embedders.openai import OpenAIEmbedder  # noqa: PLC0415 - an extra

    return OpenAIEmbedder(model=settings.embedder_model, base_url=settings.embedder_base_url)
