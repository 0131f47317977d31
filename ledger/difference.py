"""What differs between two states of a session: what was shown, and at which price. Source: R-WIF-8."""

import msgspec

from ledger.state import SessionState
from ledger.views import stats_of, window_of
from projections.entries import Entry
from projections.stats import SessionStats
from projections.summaries import Summary


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two states."""

    version: int
    stats: SessionStats
    window_tokens: int
    only_entries: tuple[Entry, ...]
    only_summaries: tuple[Summary, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides with what only they show; *edited* entries are shown by both with different text."""

    before: Side
    after: Side
    edited: tuple[tuple[Entry, Entry], ...]
    config_changed: bool

    @property
    def empty(self) -> bool:
        """Whether the model would have been shown the same."""
        sides = (self.before, self.after)
        return not self.edited and not any(side.only_entries or side.only_summaries for side in sides)


def diff(before: SessionState, after: SessionState) -> Difference:
    """Return what differs between two states, by the windows their own configs give."""
    one, other = window_of(before), window_of(after)
    entries = [{entry.version: entry for entry in window.entries} for window in (one, other)]
    summaries = [{summary.summary_id: summary for summary in window.summaries} for window in (one, other)]
    return Difference(
        before=_side(before, one.tokens, entries[0], entries[1], summaries[0], summaries[1]),
        after=_side(after, other.tokens, entries[1], entries[0], summaries[1], summaries[0]),
        edited=tuple(
            (entry, entries[1][version])
            for version, entry in entries[0].items()
            if version in entries[1] and entries[1][version].content != entry.content
        ),
        config_changed=before.config != after.config,
    )


def _side(
    state: SessionState,
    tokens: int,
    entries: dict[int, Entry],
    other_entries: dict[int, Entry],
    summaries: dict[str, Summary],
    other_summaries: dict[str, Summary],
) -> Side:
    return Side(
        version=state.version,
        stats=stats_of(state),
        window_tokens=tokens,
        only_entries=tuple(entry for version, entry in entries.items() if version not in other_entries),
        only_summaries=tuple(found for summary_id, found in summaries.items() if summary_id not in other_summaries),
    )
