"""Carrying out a replay whose questions somebody has to answer: the record first, then a model.

Source: R-WIF-4, R-WIF-5.
"""

from collections.abc import MutableMapping, Sequence

import msgspec

from ledger.compaction.driving import drive
from ledger.compaction.summarizing import answer_of
from ledger.errors import InvalidInput
from ledger.events import CompactionCompleted, Method, RecordedEvent
from ledger.history.difference import DiffInput
from ledger.ports import Summarizer, SummaryText
from ledger.prices import Prices, spending
from ledger.session.state import SESSION, end_of_batch
from ledger.what_if.answers import Answered, KnownAnswers, OnMiss, answer_from
from ledger.what_if.replay import Replay, Replayed
from projections.history import HISTORY
from projections.prompts import SummaryRequest
from projections.retrieved import hints_for


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """Where the answers to the questions of a replay came from."""

    recorded: int = 0
    called: int = 0
    estimated: int = 0


class AnswerSource(msgspec.Struct, frozen=True):
    """Who writes the summaries of a replay: how, with which model, and whoever can be asked now."""

    method: Method
    model: str | None = None
    summarizer: Summarizer | None = None


def answer_source(summarizer: Summarizer, events: Sequence[RecordedEvent]) -> AnswerSource:
    """Return who writes: *summarizer* or, where that is only the heuristic, whoever wrote in the history."""
    if summarizer.method != "heuristic":
        method: Method = "callback" if summarizer.method == "callback" else "llm"
        return AnswerSource(method, summarizer.model, summarizer)
    for event in reversed(events):
        payload = event.payload
        if isinstance(payload, CompactionCompleted) and payload.outputs and payload.method is not None:
            return AnswerSource(payload.method, payload.model)
    return AnswerSource("heuristic")


async def run(
    replay: Replay,
    events: Sequence[RecordedEvent],
    *,
    cache: MutableMapping[str, KnownAnswers],
    answer_source: AnswerSource,
    on_miss: OnMiss,
    tokenizer: str,
    deadline_s: float,
) -> tuple[Replayed, Answers]:
    """Return where *events* lead, and who answered; what a model answers now is added to *cache*.

    Raises:
        InvalidInput: a model is to be called, and there is none.
        SummaryMissing: the cache has no answer, and *on_miss* is ``raise``.
    """
    if on_miss == "call" and answer_source.method != "heuristic" and answer_source.summarizer is None:
        raise InvalidInput("no_summarizer", "no model is configured here; give a summarizer", field="on_miss")
    counts = {"recorded": 0, "called": 0, "estimated": 0}

    async def answer(request: SummaryRequest) -> SummaryText:
        source = "recorded" if request.request_hash in cache else "called" if on_miss == "call" else "estimated"
        if source == "called":
            assert answer_source.summarizer is not None
            found = await _call(answer_source.summarizer, request, cache, deadline_s)
        else:
            found = answer_from(cache, request, on_miss=on_miss, tokenizer=tokenizer)
        counts[source] += 1
        return found

    replayed = await drive(replay.steps(events), answer)
    return replayed, Answers(**counts)


async def _call(
    summarizer: Summarizer,
    request: SummaryRequest,
    cache: MutableMapping[str, KnownAnswers],
    deadline_s: float,
) -> SummaryText:
    answer = await answer_of(summarizer, request, deadline_s)
    cache[request.request_hash] = Answered(answer.text, answer.input_tokens, answer.output_tokens)
    return answer


def tried(replayed: Replayed, prices: Prices) -> DiffInput:
    """Return where a replay ended, as one side of a difference."""
    return DiffInput(
        state=replayed.state,
        hints=hints_for(replayed.state.config.window, replayed.entries),
        spent=spending(replayed.completed, prices),
        what_if=True,
    )


def recorded(events: Sequence[RecordedEvent], prices: Prices) -> DiffInput:
    """Return where *events* ended when they happened, as one side of a difference."""
    state = end_of_batch(SESSION.fold(events))
    recallable = {
        past.entry.version: past.entry
        for past in HISTORY.fold(events).current()
        if past.status in {"active", "covered"}
    }
    completed = [event.payload for event in events if isinstance(event.payload, CompactionCompleted)]
    return DiffInput(state=state, hints=hints_for(state.config.window, recallable), spent=spending(completed, prices))
