"""Compare what two states of a session show, and what they cost. Source: R-WIF-8.

Both states may be recorded ones, or one of them a what-if: the session under another config.
"""

import msgspec
from msgspec.structs import replace

from ledger.events import Ranges
from ledger.history.state_comparison import Changes, Pair, compare
from ledger.session.state import SessionState
from ledger.session.views import current_turn, stats_of
from projections.entries import Entry
from projections.memory_config.budget import Budget, budget_of
from projections.stats import SessionStats, Spending
from projections.summaries import Summary
from projections.window import Window


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests of a replay were answered from which source."""

    recorded: int = 0
    called: int = 0
    estimated: int = 0


class DiffInput(msgspec.Struct, frozen=True, kw_only=True):
    """A state, what the model is shown of it, and what its compactions have cost since the session began."""

    state: SessionState
    window: Window
    spent: Spending = Spending()
    what_if: bool = False


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two states."""

    version: int
    what_if: bool
    stats: SessionStats
    spent: Spending
    budget: Budget
    only_entries: tuple[Entry, ...]
    only_summaries: tuple[Summary, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides with what only they show; *edited* entries are shown by both with different text.

    *changes* is what changed in the whole content of the session, shown or not.
    """

    before: Side
    after: Side
    edited: tuple[Pair[Entry], ...]
    config_changed: bool
    changes: Changes

    @property
    def empty(self) -> bool:
        """Whether the model would have been shown the same."""
        sides = (self.before, self.after)
        return not self.edited and not any(side.only_entries or side.only_summaries for side in sides)


def difference(before: DiffInput, after: DiffInput, covered: Ranges = ()) -> Difference:
    """Return what differs between two states, by the windows their own configs give.

    *covered* are the versions that compactions took out of the window between. Data and memories of a what-if are not
    compared: no config changes them.
    """
    windows = (before.window, after.window)
    entries = [{entry.version: entry for entry in window.entries} for window in windows]
    summaries = [{_identity(summary): summary for summary in window.summaries} for window in windows]
    return Difference(
        before=_side(before, entries[0], entries[1], summaries[0], summaries[1]),
        after=_side(after, entries[1], entries[0], summaries[1], summaries[0]),
        edited=tuple(
            Pair(entry, entries[1][version])
            for version, entry in entries[0].items()
            if version in entries[1] and entries[1][version].content != entry.content
        ),
        config_changed=before.state.config != after.state.config,
        changes=compare(*_with_the_same_memory(before, after), covered),
    )


def _with_the_same_memory(before: DiffInput, after: DiffInput) -> tuple[SessionState, SessionState]:
    first, last = before.state, after.state
    if after.what_if:
        return first, replace(last, working=first.working)
    return (replace(first, working=last.working) if before.what_if else first), last


def _identity(summary: Summary) -> tuple[str, Ranges, int, str]:
    """Return what identifies a summary in both states; a replay creates new ids. Source: R-WIF-9."""
    return summary.key, summary.covered, summary.first_version, summary.text


def _side(
    side: DiffInput,
    entries: dict[int, Entry],
    other_entries: dict[int, Entry],
    summaries: dict[tuple[str, Ranges, int, str], Summary],
    other_summaries: dict[tuple[str, Ranges, int, str], Summary],
) -> Side:
    return Side(
        version=side.state.version,
        what_if=side.what_if,
        stats=stats_of(side.state),
        spent=side.spent,
        budget=budget_of(side.window, side.state.config, current_turn(side.state)),
        only_entries=tuple(entry for version, entry in entries.items() if version not in other_entries),
        only_summaries=tuple(found for identity, found in summaries.items() if identity not in other_summaries),
    )
