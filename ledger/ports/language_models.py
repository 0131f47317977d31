"""The models that are called: tokenizers, summarizers and embedders."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from projections.prompts import SummaryRequest


class Countable(Protocol):
    """What a tokenizer can count: an entry, or a draft of an entry."""

    @property
    def kind(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def tool_name(self) -> str | None: ...
    @property
    def tool_call_id(self) -> str | None: ...
    @property
    def arguments(self) -> object: ...
    @property
    def data(self) -> object: ...


class Count(msgspec.Struct, frozen=True):
    """A token count, the tokenizer that counted, and whether it replaced another one (R-TOK-2)."""

    tokens: int
    tokenizer: str
    fallback: bool = False


class Tokenizer(Protocol):
    """Counts tokens. Source: R-TOK-1."""

    def count(self, item: Countable) -> Count:
        """Return the count of one entry."""
        ...

    def count_text(self, text: str) -> Count:
        """Return the count of a summary."""
        ...


class SummaryText(msgspec.Struct, frozen=True):
    """A summarizer's answer, and its tokens if the summarizer reports them."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class Summarizer(Protocol):
    """Writes the text of a summary."""  # R-SUM-1

    @property
    def method(self) -> str:
        """``llm``, ``callback`` or ``heuristic``, which calls no model: recorded with each summary."""
        ...

    @property
    def model(self) -> str | None:
        """The model used when a request names none."""
        ...

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        """Return the answer; the caller validates it.

        Raises:
            SummarizerFailed: with the reason.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def model(self) -> str:
        """The model's name; embeddings of different models are never compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order.

        Raises:
            EmbedderFailed: there was no usable answer.
        """
        ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that prepares a query in another way than the texts that are searched."""

    async def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query.

        Raises:
            EmbedderFailed: there was no usable answer.
        """
        ...
