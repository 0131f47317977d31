"""Embedders: a model on this machine, or behind an OpenAI-compatible API, turns texts into vectors."""

from typing import TYPE_CHECKING, Final

from ledger.errors import InvalidInput
from ledger.settings import Settings

if TYPE_CHECKING:
    from ledger.llm.embedders.local import LocalEmbedder
    from ledger.llm.embedders.openai_embedder import OpenAIEmbedder

LOCAL: Final = "local"


def configured_embedder(settings: Settings) -> "LocalEmbedder | OpenAIEmbedder | None":
    """Return the model that the settings name, or None; the caller closes it.

    ``local`` is the model of the extra, ``local:FOLDER`` one of your own; any other name goes to the endpoint.

    Raises:
        InvalidInput: the settings contradict each other, or a file of the folder is missing.
        Unavailable: the extra is not installed.
    """
    name = settings.embedder_model
    if name is None:
        return None
    kind, _, folder = name.partition(":")
    if kind == LOCAL:
        if settings.embedder_base_url is not None:
            field = "MEMORY_LEDGER_EMBEDDER_BASE_URL"
            raise InvalidInput("bad_setting", "must not be set beside a local model", field=field)
        from ledger.llm.embedders.local import LocalEmbedder  # noqa: PLC0415 - an extra

        return LocalEmbedder(folder or None)
    from ledger.llm.embedders.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 - an extra

    return OpenAIEmbedder(model=name, base_url=settings.embedder_base_url)
