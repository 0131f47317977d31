"""Vectors by a model behind any OpenAI-compatible endpoint, through the `openai` client."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Final

from ledger.errors import EmbedderFailed, InvalidInput, Unavailable
from ledger.settings import OPENAI_KEY, Secret, secret_now, value_now

_NO_KEY: Final = "none"  # the client requires a key; a local model does not
_CHARACTERS: Final = 24_000  # models refuse more than about 8,000 tokens


class OpenAIEmbedder:
    """A `ports.models.Embedder` over ``/embeddings``; needs the ``[openai]`` extra.

    *api_key* may be a function, asynchronous or not, which is called for each call of the model; without it
    ``OPENAI_API_KEY``, or its file, is read each time. *timeout_s* limits a call including its retries. Of a long
    text the first 24,000 characters are embedded.

    Raises:
        InvalidInput: there is no *base_url* and no key.
        Unavailable: the extra is not installed.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: Secret | None = None,
        timeout_s: float = 30.0,
        max_retries: int = 2,
    ) -> None:
        try:
            from openai import AsyncOpenAI  # noqa: PLC0415 - an extra, and slow to load
        except ImportError as missing:
            raise Unavailable("install memory-ledger[openai] to embed with a model") from missing
        if not (api_key or secret_now(OPENAI_KEY) or base_url):
            raise InvalidInput(
                "missing_field", "must be given, or set OPENAI_API_KEY or OPENAI_API_KEY_FILE", field="api_key"
            )
        self._api_key = api_key
        self.model: str = model
        self._timeout_s = timeout_s
        self._client = AsyncOpenAI(base_url=base_url, api_key=_NO_KEY, timeout=timeout_s, max_retries=max_retries)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order.

        Raises:
            EmbedderFailed: the endpoint failed, was too slow, or returned no vectors.
        """
        import openai  # noqa: PLC0415 - loaded with the client

        try:
            async with asyncio.timeout(self._timeout_s):
                client = await self._client_now()
                answer = await client.embeddings.create(
                    model=self.model, input=[text[:_CHARACTERS] or " " for text in texts], encoding_format="float"
                )
        except (TimeoutError, openai.APITimeoutError) as fault:
            raise EmbedderFailed("the embedding model did not answer in time") from fault
        except openai.APIStatusError as fault:
            raise EmbedderFailed(f"the embedding endpoint answered {fault.status_code}") from fault
        except openai.OpenAIError as fault:
            raise EmbedderFailed(f"the embedding endpoint failed: {type(fault).__name__}") from fault
        except ValueError as fault:  # the client does not catch JSON and UTF-8 errors
            raise EmbedderFailed("the embedding endpoint's answer is not JSON") from fault
        return _read(answer, len(texts))

    async def _client_now(self) -> Any:
        try:
            key = await value_now(self._api_key or _key_in_environment)
        except Exception as fault:  # a function of the user may raise anything
            raise EmbedderFailed(f"the key could not be read: {type(fault).__name__}") from fault
        return self._client.with_options(api_key=key)

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()


def _key_in_environment() -> str:
    return secret_now(OPENAI_KEY) or _NO_KEY


def _read(answer: Any, count: int) -> list[list[float]]:
    """Return the vectors in *answer*; the client does not check that an endpoint follows the protocol."""
    try:
        rows = {int(row.index): [float(value) for value in row.embedding] for row in answer.data}
        vectors = [rows[index] for index in range(count)]
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise EmbedderFailed("the embedding endpoint's answer has no vector for each text") from fault
    if not all(vector and len(vector) == len(vectors[0]) and all(map(math.isfinite, vector)) for vector in vectors):
        raise EmbedderFailed("the embedding endpoint's answer has no usable vectors")
    return vectors
