"""What models answered before, and what stands in where none did. Source: R-WIF-4, R-WIF-5."""

import json
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from ledger.errors import FailureReason, SummarizerFailed, SummaryMissing
from ledger.events import CompactionCompleted, CompactionFailed, CompactionRequested, RecordedEvent
from ledger.ports import SummaryText
from ledger.tokenizers import TOKENIZERS
from projections.prompts import SummaryRequest

OnMiss: TypeAlias = Literal["raise", "call", "estimate"]


class Answered(msgspec.Struct, frozen=True):
    """What a model answered to a request, and what it cost in tokens."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class Unanswered(msgspec.Struct, frozen=True):
    """Why a request got no usable answer when it was made."""

    reason: FailureReason
    detail: str


KnownAnswers: TypeAlias = Answered | Unanswered
#: Request hash → answer, or why there was none.
SummaryCache: TypeAlias = Mapping[str, KnownAnswers]


def answer_from(cache: SummaryCache, request: SummaryRequest, *, on_miss: OnMiss, tokenizer: str) -> SummaryText:
    """Return the recorded answer to *request*, or an estimate of one. Source: R-WIF-4, R-WIF-5.

    Raises:
        SummaryMissing: there is none, and *on_miss* is not ``estimate``.
        SummarizerFailed: there was none when it was asked for.
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
    """Return a placeholder as long as the answer would be: the target, else a quarter of what is asked about."""
    counter = TOKENIZERS[tokenizer]
    asked = sum(counter.count_text(message.text).tokens for message in request.messages)
    tokens = request.target_tokens or max(1, counter.count_text(request.source).tokens // 4)
    text = " ".join(["the"] * tokens)
    if request.form == "json":
        text = json.dumps({"missing_entities": [], "summary": text})
    return SummaryText(text, asked, tokens)


def cache_of(events: Iterable[RecordedEvent]) -> dict[str, KnownAnswers]:
    """Return what models answered in a history, or failed to, by the hash of what they were asked. Source: R-WIF-4.

    The first question of a compaction that failed is known; later ones of several passes are not.
    """
    answered: dict[str, KnownAnswers] = {}
    failed: dict[str, KnownAnswers] = {}
    asked: dict[str, str] = {}
    for event in events:
        match event.payload:
            case CompactionRequested(compaction_id=name, calls=[first, *_]):
                asked[name] = first.request_hash
            case CompactionFailed(compaction_id=name, reason=reason, detail=detail) if name in asked:
                failed[asked[name]] = Unanswered(reason, detail)
            case CompactionCompleted(compaction_id=name, method="heuristic", error=str(error)) if name in asked:
                failed[asked[name]] = Unanswered("error", error)
            case CompactionCompleted(text=summary, outputs=outputs):
                for output in outputs:
                    text = summary if output.text is None else output.text
                    answered[output.request_hash] = Answered(text, output.input_tokens, output.output_tokens)
    return {**failed, **answered}
