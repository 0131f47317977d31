"""Window strategy ``recall``: the newest interactions, and what a search finds in the rest. Source: R-REC.

The log has everything, so a small window can reach back to the beginning. The caller searches first and passes the
hits; without hits, the window shows the newest interactions and summaries that fit.
"""

from collections.abc import Container, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import ClassVar, Final, Literal

from pydantic import Field

from projections.entries import Entry
from projections.strategies.base import Hints, Ratio, Recalled, StateView, WindowConfig, WindowStrategy
from projections.strategies.full import place
from projections.strategies.interactions import newest_first
from projections.summaries import Summary
from projections.tool_pairs import Interaction, group_units
from projections.window import Window
from projections.words.ranking import Ranking

#: After so many interactions that do not fit any more, the window is full.
_MISFITS: Final = 50


class Recall(WindowConfig):
    """The budget, the share of it that the newest interactions get first, and how many hits are looked at.

    Of the units before a hit, *context_before* are shown with it. *ranking* are other weights for its search.
    """

    budgets: ClassVar[tuple[str, ...]] = ("max_tokens",)
    type: Literal["recall"] = "recall"
    max_tokens: int = Field(default=4_000, ge=1)
    recent_share: Ratio = Field(default=Decimal("0.1"), ge=0, le=1)
    top_k: int = Field(default=1_000, ge=1)
    context_before: int = Field(default=0, ge=0)
    include_erased: bool = False
    ranking: Ranking | None = None

    @property
    def token_limit(self) -> int:
        """The budget."""
        return self.max_tokens


def window(config: Recall, state: StateView, hints: Hints) -> Window:
    """Return pinned entries and the current turn, then by budget: newest interactions, summaries, hits, older ones."""
    share = Fraction(config.recent_share) if hints.recalled else Fraction(1)
    newest = newest_first(state)
    recent, used, left = _recent(newest, int(config.max_tokens * share))
    summaries: list[Summary] = []
    for summary in sorted(state.summaries.live, key=place, reverse=True):
        if used + summary.tokens <= config.max_tokens:
            summaries.append(summary)
            used += summary.tokens
    shown = {entry.version: entry for entry in (*state.window.all_pinned(), *recent)}
    scores: dict[int, float] = {}
    for hit in hints.recalled:
        if hit.version in shown:
            continue
        for wanted in _widened(hit, config.context_before):
            fresh = [entry for entry in wanted if entry.version not in shown]
            tokens = sum(entry.tokens for entry in fresh)
            if used + tokens <= config.max_tokens:
                shown.update((entry.version, entry) for entry in fresh)
                scores.update((entry.version, hit.score) for entry in fresh)
                used += tokens
                break
    if hints.recalled:
        filling = _filling(chain(left, newest), shown, config.max_tokens - used)
        shown.update((entry.version, entry) for entry in filling)
    both: list[Summary | Entry] = [*summaries, *shown.values()]
    items = tuple(sorted(both, key=place))
    return Window(
        items,
        sum(item.tokens for item in items),
        dropped=len(state.window.entries) - sum(map(state.window.entries.has, shown)),
        recalled=tuple(sorted(scores.items())),
        why=tuple(sorted((hit.version, hit.why) for hit in hints.recalled if hit.version in scores and hit.why)),
    )


def _recent(newest: Iterable[Interaction], budget: int) -> tuple[list[Entry], int, list[Interaction]]:
    """Return the current turn, and complete interactions from the *newest* back while they fit, and their tokens.

    Also returned is the interaction that did not fit, if there is one.
    """
    recent: list[Entry] = []
    used = 0
    for interaction in newest:
        if interaction.closed:
            if used + interaction.tokens > budget:
                return recent, used, [interaction]
            used += interaction.tokens
        recent.extend(interaction.entries)
    return recent, used, []


def _filling(newest: Iterable[Interaction], shown: Container[int], budget: int) -> Iterator[Entry]:
    """Yield what is not *shown* of the *newest* interactions that fit *budget*, passing over those that do not."""
    misfits = 0
    for interaction in newest:
        fresh = [entry for entry in interaction.entries if entry.version not in shown]
        tokens = sum(entry.tokens for entry in fresh)
        if tokens <= budget:
            budget -= tokens
            yield from fresh
        else:
            misfits += 1
        if budget <= 0 or misfits == _MISFITS:
            return


def _widened(hit: Recalled, before: int) -> Iterable[list[Entry]]:
    """Yield what to show for *hit*, best first: its unit after the units before it, then its unit alone."""
    units = [unit.entries for unit in group_units(hit.interaction) if not unit.entries[0].pinned]
    at = next((index for index, unit in enumerate(units) if any(entry.version == hit.version for entry in unit)), None)
    if at is None:
        return
    if before:
        yield [entry for unit in units[max(0, at - before) : at + 1] for entry in unit]
    yield list(units[at])


STRATEGY = WindowStrategy("recall", Recall, window)
