"""Compaction strategy ``token_threshold``: the memory manager of seed 000. Source: R-000-1 … R-000-11."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ledger.errors import NotEnoughEntries
from projections import prompts
from projections.entries import Entry
from projections.strategies.base import (
    CompactionConfig,
    CompactionPlan,
    CompactionStrategy,
    Material,
    Ratio,
    StateView,
    SummarizerConfig,
    Trigger,
    one_call,
    placeholders,
)
from projections.strategies.planning import entries_before, plan_to_replace, tokens_of
from projections.summaries import Summary
from projections.tool_pairs import group_units

DEFAULT_PROMPT = """\
Summarize the following conversation, preserving:
1. Key topics discussed
2. Important decisions made
3. Tools used and their outcomes
4. Any errors or issues encountered
5. Context that would be needed to continue
Keep the summary concise but informative.
{content}"""


class TokenThreshold(CompactionConfig):
    """Limits above which old entries are summarised (R-CFG-2, R-CFG-7)."""

    budgets: ClassVar[tuple[str, ...]] = ("max_tokens",)
    type: Literal["token_threshold"] = "token_threshold"
    max_entries: int = Field(default=100, ge=1)
    max_tokens: int = Field(default=50_000, ge=1)
    recent_window: int = Field(default=10, ge=0)
    min_entries_to_compress: int = Field(default=5, ge=1)
    auto_compress: bool = True
    compression_ratio: Ratio = Field(default=Decimal("0.3"), gt=0, lt=1)
    prompt: Annotated[str, placeholders("content")] | None = None
    max_summary_tokens: int | None = Field(default=None, ge=0)

    @property
    def token_limit(self) -> int:
        """The tokens above which it acts."""
        return self.max_tokens


def over(config: TokenThreshold, state: StateView) -> tuple[str, ...]:
    """Return which limits are exceeded: ``tokens``, ``entries``, both or none. Source: R-000-1, R-000-3."""
    reasons = []
    if state.window.tokens + state.summaries.tokens > config.max_tokens:
        reasons.append("tokens")
    if len(state.window.entries) > config.max_entries:
        reasons.append("entries")
    return tuple(reasons)


def eligible(config: TokenThreshold, state: StateView) -> list[Entry]:
    """Return the entries that may be covered: those before the recent window, oldest first. Source: R-000-3."""
    entries = state.window.entries
    if len(entries) <= config.recent_window:
        return []
    older_count = len(entries) - config.recent_window
    cut = entries[older_count].version if config.recent_window else entries[-1].version + 1
    return entries_before(cut, group_units(entries))


def plan(config: TokenThreshold, state: StateView, trigger: Trigger) -> CompactionPlan | None:
    """Plan to replace all eligible entries by one summary. Source: R-000-4 … R-000-7.

    Raises:
        NotEnoughEntries: asked manually, fewer may be covered than ``min_entries_to_compress``.
    """
    reasons = over(config, state)
    if trigger.automatic and not (config.auto_compress and reasons):
        return None
    needed = 1 if trigger.force else config.min_entries_to_compress
    if trigger.automatic and len(state.window.entries) - config.recent_window < needed:
        return None
    entries = eligible(config, state)
    if len(entries) < needed:
        if trigger.automatic:
            return None
        raise NotEnoughEntries(eligible=len(entries), needed=needed)
    folds = _folds(config, state)
    target = max(1, int(tokens_of(entries, folds) * Fraction(config.compression_ratio)))
    return plan_to_replace(config, state, trigger, entries, reasons=reasons, folds=folds, target_tokens=target)


def request(config: TokenThreshold, defaults: SummarizerConfig, material: Material) -> prompts.SummaryRequest:
    """Return the request: the prompt with the transcript in its place. Source: R-000-11."""
    return prompts.ask(
        material.entries,
        material.folded,
        system=defaults.system_prompt,
        template=config.prompt or defaults.user_prompt_template or DEFAULT_PROMPT,
        model=defaults.model,
        parameters=defaults.parameters,
        target_tokens=material.target_tokens,
    )


def _folds(config: TokenThreshold, state: StateView) -> tuple[Summary, ...]:
    """Return the oldest summaries, until the rest fits ``max_summary_tokens``. Source: R-000-7."""
    if config.max_summary_tokens is None:
        return ()
    rest = state.summaries.tokens
    folds: list[Summary] = []
    for summary in state.summaries.live:
        if rest <= config.max_summary_tokens:
            break
        folds.append(summary)
        rest -= summary.tokens
    return tuple(folds)


def is_quiet(config: TokenThreshold, entries: int, tokens: int) -> bool:
    """Tell whether no limit is exceeded."""
    return not config.auto_compress or (entries <= config.max_entries and tokens <= config.max_tokens)


STRATEGY = CompactionStrategy(
    type="token_threshold", config=TokenThreshold, plan=plan, summarise=one_call(request), is_quiet=is_quiet
)
