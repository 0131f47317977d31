"""Carrying out a compaction plan: what the summarizer is asked, and what of its answer is taken.

Nothing here touches the store: no transaction can be open during a model call (trust M-1).
"""

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, cast, get_args

from msgspec.structs import replace

from ledger.commands import Outcome
from ledger.drafts import CONTENT_BYTES
from ledger.errors import FailureReason, InvalidInput, SummarizerFailed
from ledger.events import CompactionRequested, Method, ModelOutput
from ledger.ports import Clock, Summarizer, SummaryText, Tokenizer
from ledger.strict_json import INT_MAX, check_text
from ledger.summarizers.heuristic import Heuristic
from projections.entries import Entry
from projections.prompts import SummaryRequest
from projections.strategies import COMPACTIONS
from projections.strategies.base import CompactionConfig, Material, SummarizerConfig
from projections.summaries import Summary

DEADLINE_S: Final = 60.0

_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_REFUSAL: Final = re.compile(
    r"\W*(?:(?:i['\u2019]?m|i am) (?:sorry|unable|not able)|"
    r"i (?:cannot|can['\u2019]t|can not|won['\u2019]t)|as an ai\b|"
    r"no prior (?:history|conversation|context))",
    re.IGNORECASE,
)
#: From the least to the most trusted; a summary is worth as little as the least of what went in (trust M-4).
_TRUST: Final = ("external", "model", "user", "operator")


def request_for(
    compaction: CompactionConfig, defaults: SummarizerConfig, material: Material, summarizer: Summarizer
) -> SummaryRequest:
    """Return what *summarizer* will be asked, its own model filled in where the config names none."""
    request = COMPACTIONS[compaction.type].request(compaction, defaults, material)
    return replace(request, model=request.model or summarizer.model)


async def carry_out(
    asked: CompactionRequested,
    request: SummaryRequest,
    summarizer: Summarizer,
    *,
    on_failure: str,
    folded: Sequence[Summary],
    tokenizer: Tokenizer,
    clock: Clock,
    deadline_s: float = DEADLINE_S,
) -> Outcome:
    """Return the checked and counted outcome of one compaction.

    Raises:
        SummarizerFailed: nothing usable came, and the config asks for no heuristic instead.
    """
    entries = request.entries
    common = Outcome(
        summary_id=clock.ulid(),
        trust=trust_of(entries, folded),
        starts_at=min(_moments(entries, [summary.starts_at for summary in folded]), default=None),
        ends_at=max(_moments(entries, [summary.ends_at for summary in folded]), default=None),
        first_id=entries[0].entry_id if entries else None,
        last_id=entries[-1].entry_id if entries else None,
    )
    if not entries and not request.folded:
        return replace(common, summary_id=None)
    try:
        return await _ask(summarizer, request, asked, common, tokenizer, deadline_s)
    except SummarizerFailed as failure:
        if on_failure != "heuristic" or summarizer.method == "heuristic":
            raise
        instead = await _ask(Heuristic(), request, asked, common, tokenizer, deadline_s)
        return replace(instead, error=f"{failure.reason}: {failure}")


def _moments(entries: Sequence[Entry], others: Sequence[datetime | None]) -> list[datetime]:
    return [*(entry.moment for entry in entries), *(moment for moment in others if moment is not None)]


async def _ask(
    summarizer: Summarizer,
    request: SummaryRequest,
    asked: CompactionRequested,
    common: Outcome,
    tokenizer: Tokenizer,
    deadline_s: float,
) -> Outcome:
    answer = await _answer(summarizer, request, deadline_s)
    text = usable(answer.text)
    count = tokenizer.count_text(text)
    if asked.effect == "replace" and count.tokens >= asked.tokens:
        raise SummarizerFailed("no_gain", f"{count.tokens} tokens for what had {asked.tokens}")
    output = ModelOutput(
        request_hash=request.request_hash,
        text=None if answer.text == text else answer.text,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
    return replace(
        common,
        text=text,
        tokens=count.tokens,
        tokenizer=count.tokenizer,
        fallback=count.fallback,
        method=cast(Method, summarizer.method),
        model=None if summarizer.method == "heuristic" else request.model,
        outputs=() if summarizer.method == "heuristic" else (output,),
    )


async def _answer(summarizer: Summarizer, request: SummaryRequest, deadline_s: float) -> SummaryText:
    """Return the raw answer; whatever goes wrong is a `SummarizerFailed`."""
    try:
        async with asyncio.timeout(deadline_s):
            return _as_declared(await summarizer.summarize(request))
    except SummarizerFailed as fault:
        raise _storable(fault) from fault
    except TimeoutError as fault:
        raise SummarizerFailed("timeout", f"no answer within {deadline_s:g} seconds") from fault
    except Exception as fault:
        raise SummarizerFailed("error", f"the summarizer raised {type(fault).__name__}") from fault


def _as_declared(answer: object) -> SummaryText:
    """Return an *answer* that is what the port promises, since the types of others do not hold at run time.

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


def usable(answer: str) -> str:
    """Return the text of an untrusted *answer*: thoughts removed, stripped, within the limits of an entry.

    Raises:
        SummarizerFailed: ``empty`` or ``invalid_output``.

    Source: R-SUM-5, R-CMP-6, trust M-3, I-53.
    """
    if len(answer) > 2 * CONTENT_BYTES:
        raise SummarizerFailed("invalid_output", f"the answer has {len(answer)} characters")
    text = _THOUGHT.sub("", answer).strip()
    if not text:
        raise SummarizerFailed("empty", "the answer is empty")
    try:
        check_text(text, field="summary")
    except InvalidInput as fault:
        raise SummarizerFailed("invalid_output", str(fault)) from fault
    if len(text.encode()) > CONTENT_BYTES:
        raise SummarizerFailed("invalid_output", f"the answer is longer than {CONTENT_BYTES} bytes")
    if _REFUSAL.match(text):
        raise SummarizerFailed("invalid_output", "the answer is a refusal, not a summary")
    return text


def trust_of(entries: Sequence[Entry], folded: Sequence[Summary]) -> str:
    """Return the lowest trust among what goes into a summary (trust M-4)."""
    labels = [_trust(entry) for entry in entries] + [summary.trust or _TRUST[0] for summary in folded]
    return min(labels, key=_TRUST.index, default=_TRUST[0])


def _trust(entry: Entry) -> str:
    if entry.kind in {"tool_result", "context"}:
        return "external"
    if entry.role == "assistant":
        return "model"
    return "user" if entry.role == "user" else "operator"
