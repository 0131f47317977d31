"""A strategy's questions to its summarizer, step by step; the caller asks the model.

Pure: the same answers lead to the same questions and the same summary, live and in a replay (R-WIF-1).
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ledger.errors import SummarizerFailed
from ledger.llm.tokenizers import TOKENIZERS
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.prompts import SummaryRequest
from projections.strategies import COMPACTIONS
from projections.strategies.base import CompactionConfig, CompactionPlan, Digest, Material, SummarizerConfig

#: The part of the session's limit that summaries without a model may fill.
_QUARTER: Final = 4


class Dialogue:
    """The questions of one compaction; *first* is the first question, or the digest if there is none."""

    def __init__(
        self,
        compaction: CompactionConfig,
        defaults: SummarizerConfig,
        material: Material,
        *,
        model: str | None,
        instead: str | None = None,
    ) -> None:
        summarise = COMPACTIONS[compaction.type].summarise
        assert summarise is not None, "a strategy that only erases asks no model"
        self.material = material
        self._model = model
        self._instead = instead
        self._steps = summarise(compaction, defaults, material)
        self.first = self._step(None)

    def answer(self, text: str) -> SummaryRequest | Digest:
        """Return the next question after the answer *text*, or the final digest.

        Raises:
            SummarizerFailed: the strategy cannot use the answer.
        """
        return self._step(text)

    def fail(self, failure: SummarizerFailed) -> SummaryRequest | Digest:
        """Return the strategy's next question after a failed call, or its digest.

        Raises:
            SummarizerFailed: the strategy cannot continue.
        """
        try:
            return self._own(self._steps.throw(failure))
        except StopIteration as ended:
            return _digest(ended)

    def _step(self, text: str | None) -> SummaryRequest | Digest:
        try:
            return self._own(next(self._steps) if text is None else self._steps.send(text))
        except StopIteration as ended:
            return _digest(ended)

    def _own(self, request: SummaryRequest) -> SummaryRequest:
        """Return *request* with the summarizer's own model, if the config names none."""
        return replace(request, model=self._instead or request.model or self._model)


def _digest(ended: StopIteration) -> Digest:
    digest = ended.value
    assert isinstance(digest, Digest)
    return digest


def dialogue_of(
    state: SessionState,
    plan: CompactionPlan,
    entries: Sequence[Entry],
    *,
    model: str | None,
    instead: str | None = None,
) -> Dialogue:
    """Return the dialogue of *plan*, decided on *state*; *entries* are those it covers, oldest first.

    *model* is asked if the config names none; *instead* replaces both.
    """
    compaction = state.config.compaction(plan.key)
    assert compaction is not None
    tokenizer = TOKENIZERS[state.config.tokenizer]
    limit = state.config.token_limit
    others = sum(summary.tokens for summary in state.summaries.live if summary.summary_id not in plan.folds)
    opening = state.window.opening if COMPACTIONS[compaction.type].sees_opening else None
    material = Material(
        tuple(entries),
        tuple(summary for summary in state.summaries.live if summary.summary_id in plan.folds),
        plan.target_tokens,
        count=lambda text: tokenizer.count_text(text).tokens,
        opening=opening.content if opening else "",
        room=None if limit is None else limit // _QUARTER - others,
    )
    return Dialogue(compaction, state.config.summarizer, material, model=model, instead=instead)
