"""The recorded answers of models, and placeholders where there are none. Source: R-WIF-4, R-WIF-5."""

import json
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from ledger.errors import FailureReason, SummarizerFailed, SummaryMissing
from ledger.events import CompactionCompleted, CompactionFailed, CompactionRequested, RebuildAnswered, RecordedEvent
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import SummaryText
from projections.prompts import SummaryRequest

OnMiss: TypeAlias = Literal["raise", "call", "estimate"]


class Answered(msgspec.Struct, frozen=True):
    """The answer of a model to a request, and its cost in tokens."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class Unanswered(msgspec.Struct, frozen=True):
    """Why a request had no usable answer."""

    reason: FailureReason
    detail: str


KnownAnswers: TypeAlias = Answered | Unanswered
#: Request hash → answer, or why there is none.
SummaryCache: TypeAlias = Mapping[str, KnownAnswers]


def answer_from(cache: SummaryCache, request: SummaryRequest, *, on_miss: OnMiss, tokenizer: str) -> SummaryText:
    """Return the recorded answer to *request*, or an estimate of one. Source: R-WIF-4, R-WIF-5.

    Raises:
        SummaryMissing: there is no recorded answer, and *on_miss* is not ``estimate``.
        SummarizerFailed: the recorded call failed.
    """
    known = cache.get(request.request_hash)
    if isinstance(known, Unanswered):
        raise SummarizerFailed(known.reason, known.detail)
    if known is not None:
        return SummaryText(known.text, known.input_tokens, known.output_tokens)
    if on_miss != "estimate":
        raise SummaryMissing(request.request_hash)
    return estimated(request, tokenizer=tokenizer)


def estimated(request: SummaryRequest, *, tokenizer: str) -> SummaryText:
    """Return a placeholder as long as an answer: the target, else a quarter of the source text."""
    counter = TOKENIZERS[tokenizer]
    input_tokens = sum(counter.count_text(message.text).tokens for message in request.messages)
    tokens = request.target_tokens or max(1, counter.count_text(request.source).tokens // 4)
    text = " ".join(["the"] * tokens)
    if request.form == "json":
        text = json.dumps({"missing_entities": [], "summary": text})
    return SummaryText(text, input_tokens, tokens)


def cache_of(events: Iterable[RecordedEvent]) -> dict[str, KnownAnswers]:
    """Return the answers and failures of models in a history, by request hash. Source: R-WIF-4.

    Of a failed compaction with several passes only the first request is known.
    """
    answered: dict[str, KnownAnswers] = {}
    failed: dict[str, KnownAnswers] = {}
    requests: dict[str, str] = {}
    for event in events:
        match event.payload:
            case CompactionRequested(compaction_id=name, calls=[first, *_]):
                requests[name] = first.request_hash
            case CompactionFailed(compaction_id=name, reason=reason, detail=detail) if name in requests:
                failed[requests[name]] = Unanswered(reason, detail)
            case CompactionCompleted(compaction_id=name, model_failed=True, error=error) if name in requests:
                failed[requests[name]] = Unanswered("error", error or "")
            case RebuildAnswered(output=output):
                answered[output.request_hash] = Answered(output.text or "", output.input_tokens, output.output_tokens)
            case CompactionCompleted(text=summary, outputs=outputs):
                for output in outputs:
                    text = summary if output.text is None else output.text
                    answered[output.request_hash] = Answered(text, output.input_tokens, output.output_tokens)
    return {**failed, **answered}
