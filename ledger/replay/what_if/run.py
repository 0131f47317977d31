"""Run a replay and answer its requests: from the record first, then by a model.

Source: R-WIF-4, R-WIF-5.
"""

from collections.abc import MutableMapping, Sequence

import msgspec

from ledger.errors import InvalidInput
from ledger.events import CompactionCompleted, Method, RebuildAnswered, RecordedEvent
from ledger.history.difference import Answers, DiffInput
from ledger.llm.compaction.driving import drive
from ledger.llm.prices import Prices, spending
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.ports import Summarizer, SummaryText
from ledger.replay.what_if.config_replay import Replay
from ledger.replay.what_if.recorded_answers import Answered, KnownAnswers, OnMiss, answer_from
from ledger.replay.what_if.replayed import Replayed
from ledger.session.evolve import end_of_batch
from ledger.session.fast_fold import SESSION_IN_RUNS
from ledger.session.views import window_of
from projections.log.history import HISTORY
from projections.prompts import SummaryRequest
from projections.strategies.base import NO_HINTS
from projections.strategies.recall import Recall
from projections.strategies.retrieved import hints_for


class AnswerSource(msgspec.Struct, frozen=True):
    """What writes the summaries of a replay: the method, the model, and a summarizer if one can be called."""

    method: Method
    model: str | None = None
    summarizer: Summarizer | None = None


def answer_source(summarizer: Summarizer, events: Sequence[RecordedEvent]) -> AnswerSource:
    """Return *summarizer* as a source or, if it calls no model, the source of the newest recorded summary."""
    if summarizer.method != "heuristic":
        method: Method = "callback" if summarizer.method == "callback" else "llm"
        return AnswerSource(method, summarizer.model, summarizer)
    for event in reversed(events):
        payload = event.payload
        if isinstance(payload, CompactionCompleted) and payload.method in {"llm", "callback"}:
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
    models: ModelCalls,
) -> tuple[Replayed, Answers]:
    """Return the end of the replay and the sources of its answers; new answers of a model are added to *cache*.

    Raises:
        InvalidInput: *on_miss* is ``call``, and there is no model.
        SummaryMissing: the cache has no answer, and *on_miss* is ``raise``.
    """
    if on_miss == "call" and answer_source.method != "heuristic" and answer_source.summarizer is None:
        raise InvalidInput("no_summarizer", "must not be call without a model; give a summarizer", field="on_miss")
    counts = {"recorded": 0, "called": 0, "estimated": 0}

    async def answer(request: SummaryRequest) -> SummaryText:
        source = "recorded" if request.request_hash in cache else "called" if on_miss == "call" else "estimated"
        if source == "called":
            assert answer_source.summarizer is not None
            found = await models.answer(answer_source.summarizer, request)
            cache[request.request_hash] = Answered(found.text, found.input_tokens, found.output_tokens)
        else:
            found = answer_from(cache, request, on_miss=on_miss, tokenizer=tokenizer)
        counts[source] += 1
        return found

    replayed = await drive(replay.steps(events), answer)
    return replayed, Answers(**counts)


def side_of(replayed: Replayed, prices: Prices) -> DiffInput:
    """Return the end of a replay as one side of a difference."""
    return DiffInput(
        state=replayed.state,
        window=window_of(replayed.state, hints_for(replayed.state.config.window, replayed.entries)),
        spent=spending(replayed.completed, prices),
        what_if=True,
    )


def recorded(events: Sequence[RecordedEvent], prices: Prices) -> DiffInput:
    """Return the recorded state after *events* as one side of a difference."""
    state = end_of_batch(SESSION_IN_RUNS.fold(events))
    hints = NO_HINTS
    if isinstance(state.config.window, Recall):  # a fold of the history grows with it, and no other window needs one
        past = HISTORY.fold(events).current()
        recallable = {item.version: item for item in past if item.status in {"active", "covered"}}
        hints = hints_for(state.config.window, recallable)
    written = [event.payload for event in events if isinstance(event.payload, CompactionCompleted | RebuildAnswered)]
    return DiffInput(state=state, window=window_of(state, hints), spent=spending(written, prices))
