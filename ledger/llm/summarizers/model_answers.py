"""Calls of models: within a deadline, counted, and every failure as one kind of error."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Final, TypeVar, cast, get_args

from msgspec.structs import replace

from ledger.errors import EmbedderFailed, FailureReason, SummarizerFailed
from ledger.events.strict_json import INT_MAX
from ledger.llm.summarizers.usable import usable
from ledger.ports import Summarizer, SummaryText
from ledger.ports.language_models import Embedder, QueryEmbedder
from projections.prompts import SummaryRequest

T = TypeVar("T")

DEADLINE_S: Final = 60.0
#: A model can be named in a config: the calls of further ones are counted as those of ``other``.
_MOST_MODELS: Final = 100


class ModelCalls:
    """Calls models, each for at most *deadline_s* seconds.

    *ended* counts the calls by model and outcome: ``ok`` or why it failed, also why no caller can use an answer.
    *tokens* counts what the models reported, by model and direction: ``input`` or ``output``.
    """

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._models: set[str] = set()
        self.ended: Counter[tuple[str, str]] = Counter()
        self.tokens: Counter[tuple[str, str]] = Counter()

    async def answer(self, summarizer: Summarizer, request: SummaryRequest) -> SummaryText:
        """Return the raw answer of *summarizer*.

        Raises:
            SummarizerFailed: for every failure, with its reason.
        """
        model = self._name(request.model or summarizer.model or summarizer.method)
        try:
            answer = await self._answer(summarizer, request)
        except SummarizerFailed as fault:
            self.ended[model, fault.reason] += 1
            raise
        self.ended[model, _outcome(answer.text)] += 1
        self.tokens[model, "input"] += answer.input_tokens or 0
        self.tokens[model, "output"] += answer.output_tokens or 0
        return answer

    async def _answer(self, summarizer: Summarizer, request: SummaryRequest) -> SummaryText:
        try:
            async with asyncio.timeout(self._deadline_s):
                return _as_declared(await summarizer.summarize(request))
        except SummarizerFailed as fault:
            raise _storable(fault) from fault
        except TimeoutError as fault:
            raise SummarizerFailed("timeout", f"no answer within {self._deadline_s:g} seconds") from fault
        except Exception as fault:
            raise SummarizerFailed("error", f"the summarizer raised {type(fault).__name__}") from fault

    async def vectors(self, model: str, embedding: Awaitable[T]) -> T:
        """Return what *embedding*, a call of the embedder *model*, returns.

        Raises:
            EmbedderFailed: there was no usable answer.
        """
        model = self._name(model)
        try:
            vectors = await embedding
        except EmbedderFailed:
            self.ended[model, "error"] += 1
            raise
        self.ended[model, "ok"] += 1
        return vectors

    def take(self) -> str:
        """Return the counts as JSON, for `add` in another process, and count from zero again."""
        taken = [[[*labels, count] for labels, count in counts.items()] for counts in (self.ended, self.tokens)]
        self.ended.clear()
        self.tokens.clear()
        return json.dumps(taken)

    def add(self, taken: str) -> None:
        """Add the counts of another process."""
        for counts, others in zip((self.ended, self.tokens), json.loads(taken), strict=True):
            for model, label, count in others:
                counts[self._name(model), label] += count

    def _name(self, model: str) -> str:
        if model not in self._models and len(self._models) >= _MOST_MODELS:
            return "other"
        self._models.add(model)
        return model


class CountedSummarizer:
    """A `ports.models.Summarizer` that counts the *calls* of another one, also those that failed."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self.calls = 0

    @property
    def method(self) -> str:
        """The method of the inner summarizer."""
        return self._summarizer.method

    @property
    def model(self) -> str | None:
        """The model of the inner summarizer."""
        return self._summarizer.model

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        """Return the inner summarizer's answer, or raise what it raises."""
        self.calls += 1
        return await self._summarizer.summarize(request)


class CountedEmbedder:
    """A `ports.models.QueryEmbedder` whose calls are counted."""

    def __init__(self, embedder: Embedder, calls: ModelCalls) -> None:
        self._embedder = embedder
        self._calls = calls

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._embedder.model

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `ports.models.Embedder.embed`."""
        return await self._calls.vectors(self.model, self._embedder.embed(texts))

    async def embed_query(self, text: str) -> list[float]:
        """See `ports.models.QueryEmbedder.embed_query`; another embedder is given the query like any text."""
        if isinstance(self._embedder, QueryEmbedder):
            return await self._calls.vectors(self.model, self._embedder.embed_query(text))
        return (await self.embed([text]))[0]


def _outcome(text: str) -> str:
    """Return ``ok``, or why *text* is no answer: it is empty, a refusal, or cannot be stored."""
    try:
        usable(text)
    except SummarizerFailed as fault:
        return fault.reason
    return "ok"


def _as_declared(answer: object) -> SummaryText:
    """Return *answer* if it has the type that the port promises, which user code may ignore at run time.

    A value of another type would be stored, and no release could read the event again.
    """
    if not isinstance(answer, SummaryText) or not isinstance(answer.text, str):
        raise SummarizerFailed("invalid_output", "the summarizer gave something else than text")
    return replace(answer, input_tokens=_count(answer.input_tokens), output_tokens=_count(answer.output_tokens))


def _count(tokens: object) -> int | None:
    counted = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens <= INT_MAX
    return cast(int, tokens) if counted else None


def _storable(fault: SummarizerFailed) -> SummarizerFailed:
    """Return *fault* with a reason we know, in words that can be stored."""
    reason: FailureReason = fault.reason if fault.reason in get_args(FailureReason) else "error"
    return SummarizerFailed(reason, str(fault).encode(errors="replace").decode().replace("\x00", "?")[:500])
