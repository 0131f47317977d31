"""Carry out a compaction plan: ask the summarizer and check its answers.

This module has no access to the store, so no transaction can be open during a model call (trust M-1).
"""

from collections.abc import Generator, Sequence
from contextlib import suppress
from datetime import datetime
from fractions import Fraction
from typing import Final, cast

from msgspec.structs import replace

from ledger.errors import SummarizerFailed
from ledger.events import CompactionRequested, Method, ModelOutput
from ledger.llm.compaction.dialogue import Dialogue
from ledger.llm.compaction.driving import drive
from ledger.llm.summarizers.extractive import extract
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.llm.summarizers.usable import cleaned, usable
from ledger.ports import Clock, Summarizer, SummaryText, Tokenizer
from ledger.session.commands import SummaryOutcome
from projections.entries import Entry
from projections.prompts import SummaryRequest
from projections.strategies.base import Digest
from projections.summaries import Summary

#: From the least to the most trusted; a summary has the lowest trust among its sources (trust M-4).
_TRUST: Final = ("external", "model", "user", "operator")
#: Of a summary without a model: the share of its source, and the least and most tokens.
_SHARE: Final = Fraction(3, 10)
_LEAST: Final = 100
_MOST: Final = 2_000


async def execute(
    requested: CompactionRequested,
    dialogue: Dialogue,
    summarizer: Summarizer,
    *,
    on_failure: str,
    tokenizer: Tokenizer,
    clock: Clock,
    models: ModelCalls,
) -> SummaryOutcome:
    """Return the checked and counted outcome of one compaction; *models* asks *summarizer* for each answer.

    Raises:
        SummarizerFailed: no answer was usable, and the config does not fall back to a summary without a model.
    """
    steps = converse(
        requested,
        dialogue,
        method=cast(Method, summarizer.method),
        on_failure=on_failure,
        tokenizer=tokenizer,
        summary_id=clock.ulid(),
    )
    return await drive(steps, lambda request: models.answer(summarizer, request))


def converse(
    requested: CompactionRequested,
    dialogue: Dialogue,
    *,
    method: Method,
    on_failure: str,
    tokenizer: Tokenizer,
    summary_id: str,
) -> Generator[SummaryRequest, SummaryText, SummaryOutcome]:
    """Yield each request to a summarizer, receive its answer, and return the outcome; pure.

    A failed call is thrown in as `SummarizerFailed`. Without a model nothing is yielded (R-SUM-9).

    Raises:
        SummarizerFailed: no answer was usable, and the config does not fall back to a summary without a model.
    """
    entries, folded = dialogue.material.entries, dialogue.material.folded
    common = SummaryOutcome(
        summary_id=summary_id,
        trust=trust_of(entries, folded),
        starts_at=min(_moments(entries, [summary.starts_at for summary in folded]), default=None),
        ends_at=max(_moments(entries, [summary.ends_at for summary in folded]), default=None),
        first_id=entries[0].entry_id if entries else None,
        last_id=entries[-1].entry_id if entries else None,
    )
    if not entries and not folded:
        return replace(common, summary_id=None)
    if method == "heuristic":
        return _without_a_model(requested, dialogue, common, tokenizer)
    try:
        return (yield from _with_a_model(requested, dialogue, common, tokenizer, method))
    except SummarizerFailed as failure:
        if on_failure != "heuristic":
            raise
        instead = _without_a_model(requested, dialogue, common, tokenizer)
        return replace(instead, error=f"{failure.reason}: {failure}")


def _without_a_model(
    requested: CompactionRequested, dialogue: Dialogue, common: SummaryOutcome, tokenizer: Tokenizer
) -> SummaryOutcome:
    """Return the outcome whose text is extracted; that is not an answer, so nothing is removed from it."""
    material = dialogue.material
    text = extract(
        material.entries,
        [summary.text for summary in material.folded],
        budget=_budget(requested, dialogue),
        count=material.count,
    )
    return replace(_checked(requested, text, common, tokenizer), method="heuristic")


def _budget(requested: CompactionRequested, dialogue: Dialogue) -> int:
    """Return the most tokens of a summary without a model (R-SUM-12)."""
    first, room = dialogue.first, dialogue.material.room
    target = first.target_tokens if isinstance(first, SummaryRequest) else None
    share = max(int(requested.tokens * _SHARE), min(_LEAST, requested.tokens // 2))
    budget = min(target or share, _MOST)
    if room is not None:
        budget = min(budget, max(_LEAST, room // 2))
    return min(budget, requested.tokens - 1) if requested.effect == "replace" else budget


def _with_a_model(
    requested: CompactionRequested, dialogue: Dialogue, common: SummaryOutcome, tokenizer: Tokenizer, method: Method
) -> Generator[SummaryRequest, SummaryText, SummaryOutcome]:
    outputs: list[ModelOutput] = []
    model: str | None = None
    step = dialogue.first
    while isinstance(step, SummaryRequest):
        try:
            answer = yield step
            text = cleaned(answer.text)
        except SummarizerFailed as failure:
            step = dialogue.fail(failure)
            continue
        model = step.model
        outputs.append(
            ModelOutput(
                request_hash=step.request_hash,
                text=answer.text,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
            )
        )
        step = dialogue.answer(text)
    checked, ended = _checked_digest(requested, step, common, tokenizer)
    return replace(
        checked,
        method=method,
        model=model,
        # an answer that equals the summary is not stored twice
        outputs=tuple(replace(output, text=None) if output.text == checked.text else output for output in outputs),
        passes=step.passes,
        ended=ended,
    )


def _checked_digest(
    requested: CompactionRequested, digest: Digest, common: SummaryOutcome, tokenizer: Tokenizer
) -> tuple[SummaryOutcome, str | None]:
    """Return the checked text, of several passes the last usable one, and how it ended (R-COD-5)."""
    try:
        return _checked(requested, usable(digest.text), common, tokenizer), digest.ended
    except SummarizerFailed:
        for earlier in reversed(digest.passes[:-1]):
            with suppress(SummarizerFailed):
                return _checked(requested, usable(earlier.summary), common, tokenizer), "partial"
        raise


def _checked(requested: CompactionRequested, text: str, common: SummaryOutcome, tokenizer: Tokenizer) -> SummaryOutcome:
    count = tokenizer.count_text(text)
    if requested.effect == "replace" and count.tokens >= requested.tokens:
        raise SummarizerFailed("no_gain", f"{count.tokens} tokens for what had {requested.tokens}")
    return replace(common, text=text, tokens=count.tokens, tokenizer=count.tokenizer, fallback=count.fallback)


def _moments(entries: Sequence[Entry], others: Sequence[datetime | None]) -> list[datetime]:
    return [*(entry.created_at for entry in entries), *(moment for moment in others if moment is not None)]


def trust_of(entries: Sequence[Entry], folded: Sequence[Summary]) -> str:
    """Return the lowest trust among the sources of a summary (trust M-4)."""
    labels = [_trust(entry) for entry in entries] + [summary.trust or _TRUST[0] for summary in folded]
    return min(labels, key=_TRUST.index, default=_TRUST[0])


def _trust(entry: Entry) -> str:
    if entry.kind in {"tool_result", "context"}:
        return "external"
    return {"assistant": "model", "user": "user", "system": "operator"}.get(entry.role, "external")
