"""What the strategies of seed 003 share: live interactions, the facts for conditions, and the trigger fields.

Source: R-003-1, R-003-6 … R-003-9, R-CND-5.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, ClassVar, Final, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from ledger.errors import NotEnoughEntries
from ledger.events import Action
from projections import conditions
from projections.conditions import Facts
from projections.entries import Entry
from projections.strategies.base import CompactionConfig, CompactionPlan, FieldError, StateView, Trigger
from projections.strategies.planning import plan_to_replace
from projections.summaries import Summary
from projections.tool_pairs import Interaction, group_interactions

_FIRST_TAKEN: Final = 16  # entries: of a new process, most windows have read as many


def _checked(text: str) -> str:
    conditions.check(text)
    return text


Condition: TypeAlias = Annotated[str, AfterValidator(_checked)]
Conditions: TypeAlias = Annotated[tuple[Condition, ...], Field(strict=False, max_length=conditions.PER_STRATEGY)]
ToolNames: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]


class Triggers(CompactionConfig):
    """When a strategy of seed 003 acts, and how much it leaves; thresholds of 0 and below are off (R-003-6)."""

    budgets: ClassVar[tuple[str, ...]] = ("input_tokens_threshold", "interaction_threshold_tokens")
    input_tokens_threshold: int = 0
    interaction_keep: int = Field(default=0, ge=0)
    interaction_conditions: Conditions = ()
    interaction_threshold_qty: int = 0
    interaction_threshold_tokens: int = 0
    on_tools_success_threshold: ToolNames = ()
    on_tools_error_threshold: ToolNames = ()
    _reserved: int = 0

    def less(self, tokens: int) -> Self:
        """Return this config for a window beside which a request carries *tokens*."""
        lower = super().less(tokens)
        lower._reserved = tokens  # noqa: SLF001 - of its own class
        return lower

    def own(self, reported: int) -> int:
        """Return the input tokens of the window, of those that a model *reported*, which has all of the request."""
        return reported - self._reserved

    @property
    def token_limit(self) -> int | None:
        """The tokens from which on it acts; None if it does not count tokens."""
        limits = (self.input_tokens_threshold, self.interaction_threshold_tokens)
        return min((limit for limit in limits if limit > 0), default=None)

    @model_validator(mode="after")
    def _keeps_less_than_it_waits_for(self) -> Self:
        if 0 < self.interaction_threshold_qty <= self.interaction_keep:
            raise FieldError("interaction_keep", "must be below interaction_threshold_qty")
        return self


def all_interactions(state: StateView) -> tuple[Interaction, ...]:
    """Return the interactions with an active entry, oldest first; the last one may be open."""
    return group_interactions(state.window.entries)


def newest_first(state: StateView) -> Iterator[Interaction]:
    """Yield what `all_interactions` returns, the newest first; read no more entries than that takes.

    The newest entries are grouped by themselves from a user message on where no older call can have its result.
    """
    entries, taken, yielded = state.window.entries, _FIRST_TAKEN, 0
    while True:
        first = max(0, len(entries) - taken) if state.window.pairs_as_added() else 0
        newest = entries[first:]
        begin = _begin(state, newest) if first else 0
        if begin is not None:
            found = group_interactions(newest[begin:])
            yield from reversed(found[: len(found) - yielded])
            yielded = len(found)
        if not first:
            return
        taken *= 2


def _begin(state: StateView, newest: Sequence[Entry]) -> int | None:
    """Return the place of the first user message in *newest* that no call before it and result after it enclose."""
    late = state.items.interactions.strays
    for place, entry in enumerate(newest):
        if entry.starts_interaction and not any(home < entry.version <= version for version, home in late):
            return place
    return None


def passes(texts: Sequence[str], interaction: Interaction, index_from_end: int) -> bool:
    """Tell whether every condition is true for every message of *interaction* (R-003-5)."""
    if not texts:
        return True
    messages = [message_facts(entry, seq) for seq, entry in enumerate(interaction.entries, start=1)]
    return conditions.holds(texts, messages, interaction_facts(interaction, index_from_end))


def message_facts(entry: Entry, seq: int) -> Facts:
    """Return the facts of a message for conditions; *seq* counts from 1 in its interaction. Source: R-CND-5."""
    calls = entry.kind in {"tool_call", "tool_result"}
    return {
        "role": entry.role,
        "kind": entry.kind,
        "content": entry.content,
        "name": None if calls else (entry.metadata or {}).get("name"),
        "tool": entry.tool_name,
        "status": entry.outcome,
        "tokens": entry.tokens,
        "seq": seq,
        "metadata": entry.metadata or {},
    }


def interaction_facts(interaction: Interaction, index_from_end: int) -> Facts:
    """Return the facts of an interaction for conditions; index 0 is the newest. Source: R-CND-5."""
    return {
        "tokens": interaction.tokens,
        "message_count": len(interaction.entries),
        "tools": list(dict.fromkeys(entry.tool_name for entry in interaction.entries if entry.kind == "tool_call")),
        "has_error": any(entry.outcome == "error" for entry in interaction.entries),
        "index_from_end": index_from_end,
    }


def plan(
    config: Triggers, state: StateView, trigger: Trigger, *, action: Action, folds: Sequence[Summary] = ()
) -> CompactionPlan | None:
    """Plan to remove all live interactions but the last ``interaction_keep``. Source: R-003-7, R-003-9.

    Raises:
        NotEnoughEntries: asked manually, there are no more than ``interaction_keep`` interactions.
    """
    if trigger.automatic and not _may_fire(config, state):
        return None
    found = all_interactions(state)
    live = [interaction for interaction in found if interaction.closed]
    leaving = live[: len(live) - config.interaction_keep] if len(live) > config.interaction_keep else []
    reasons = fired(config, state, live) if trigger.automatic and len(live) == len(found) else ()
    if trigger.automatic and not (reasons and leaving):
        return None
    if not leaving:
        raise NotEnoughEntries(eligible=0, needed=1)
    entries = sorted(
        (entry for interaction in leaving for entry in interaction.entries), key=lambda entry: entry.version
    )
    return plan_to_replace(config, state, trigger, entries, reasons=reasons, folds=folds, action=action)


def fired(config: Triggers, state: StateView, live: Sequence[Interaction]) -> tuple[str, ...]:
    """Return the triggers that hold; conditions choose which of *live* count. Source: R-003-7, R-003-8."""
    counted = [
        interaction
        for at, interaction in enumerate(live)
        if passes(config.interaction_conditions, interaction, len(live) - 1 - at)
    ]
    mark = state.compactions.watermark(config.key)
    fresh = [entry for interaction in live for entry in interaction.entries if entry.version > mark]
    held = {
        "input_tokens": 0 < config.input_tokens_threshold < _input_tokens(config, state),
        "interactions": 0 < config.interaction_threshold_qty <= len(counted),
        "tokens": 0 < config.interaction_threshold_tokens <= sum(interaction.tokens for interaction in counted),
        "tool_success": any(_ran(entry, "ok", config.on_tools_success_threshold) for entry in fresh),
        "tool_error": any(_ran(entry, "error", config.on_tools_error_threshold) for entry in fresh),
    }
    return tuple(name for name, holds in held.items() if holds)


def _may_fire(config: Triggers, state: StateView) -> bool:
    """Tell whether a trigger may hold, by counts of the state that conditions and an open interaction only lower."""
    entries, mark = state.window, state.compactions.watermark(config.key)
    tokens = entries.tokens - entries.pinned_tokens
    ran = {(tool, outcome) for tool, outcome, version in entries.ran if version > mark}
    may_fire = (
        0 < config.interaction_threshold_qty <= entries.users + 1
        or 0 < config.interaction_threshold_tokens <= tokens
        or not ran.isdisjoint((tool, "ok") for tool in config.on_tools_success_threshold)
        or not ran.isdisjoint((tool, "error") for tool in config.on_tools_error_threshold)
        or 0 < config.input_tokens_threshold < _input_tokens(config, state)
    )
    return may_fire and all(newest.closed for newest in islice(newest_first(state), 1))


def _ran(entry: Entry, outcome: str, tools: Sequence[str]) -> bool:
    return entry.tool_name in tools and entry.outcome == outcome


def _input_tokens(config: Triggers, state: StateView) -> int:
    """Return the input tokens that the newest answer reports, or else the tokens of the current window."""
    if config.input_tokens_threshold <= 0:
        return 0
    entries = state.window.entries
    newest = next((entry for entry in reversed(entries) if entry.role == "assistant"), None)
    reported = newest.facts.input_tokens if newest is not None else None
    return state.shown_tokens() if reported is None else config.own(reported)
