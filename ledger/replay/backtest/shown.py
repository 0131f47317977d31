"""What a replay shows at each model call: tokens, and tool calls without their results."""

from collections.abc import Mapping, Sequence

from ledger.events import RecordedEvent
from ledger.replay.backtest.turns import asked_at, partners, split_pairs, tool_pairs
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from ledger.session.views import window_of
from projections.entries import Entry
from projections.memory_config.config import MemoryConfig
from projections.strategies import WINDOWS, full
from projections.strategies.recall import Recall
from projections.strategies.retrieved import hints_for
from projections.window import Window
from projections.words.searchable_text import words_of
from projections.words.word_index import WordIndex


class Follower:
    """Observes a replay after each batch: counts the tokens shown, and updates an index for windows that search."""

    def __init__(self, events: Sequence[RecordedEvent], config: MemoryConfig) -> None:
        self._asked_at = asked_at(events)
        self._partners = partners(tool_pairs(events))
        self._config = config
        # a window with everything costs its whole length to build; these two numbers do not need it
        self._everything = _Everything(self._partners) if WINDOWS[config.window.type] is full.STRATEGY else None
        self._known: dict[int, Entry] = {}
        self.index = WordIndex()
        self.shown: list[int] = []
        self.split_pairs = 0

    def observe(self, state: SessionState, entries: Mapping[int, Entry]) -> None:
        """Count the tokens of the window at *state*, if a model is called there."""
        if state.version not in self._asked_at:
            return
        if self._everything is not None:
            self.shown.append(state.window.tokens + state.summaries.tokens)
            self.split_pairs += self._everything.split_pairs(state)
            return
        window = self.window(state, entries)
        assert window is not None
        self.shown.append(window.tokens)
        self.split_pairs += split_pairs(self._partners, {entry.version for entry in window.entries}, state.version)

    def window(self, state: SessionState, entries: Mapping[int, Entry]) -> Window | None:
        """Return the window at *state*; None if no model is called there."""
        if state.version not in self._asked_at:
            return None
        if isinstance(self._config.window, Recall):
            self.follow(entries)
        return window_of(state, hints_for(self._config.window, entries, index=self.index))

    def follow(self, entries: Mapping[int, Entry]) -> None:
        """Update the index to *entries*."""
        for version in self._known.keys() - entries.keys():
            self.index.remove(version)
        for version, entry in entries.items():
            if self._known.get(version) is not entry:
                self.index.add(version, words_of(entry, "auto"))
        self._known = dict(entries)


class _Everything:
    """The split pairs among all active entries; between two calls it reads only the entries added."""

    def __init__(self, partners: Mapping[int, int]) -> None:
        self._partners = partners
        self._alone: set[int] = set()  # active calls and results without their partners
        self._before = SESSION.initial

    def split_pairs(self, state: SessionState) -> int:
        """Return how many pairs are split at *state*, which is later than that of the call before."""
        if _departed(self._before) != _departed(state):
            self._alone.clear()
            self._before = SESSION.initial
        for entry in reversed(state.window.entries):
            version = entry.version
            if version <= self._before.version:
                break
            if self._partners.get(version) in self._alone:
                self._alone.remove(self._partners[version])
            elif version in self._partners:
                self._alone.add(version)
        self._before = state
        return split_pairs(self._partners, self._alone, state.version)


def _departed(state: SessionState) -> tuple[int, int, int]:
    """Return what changes when an active entry leaves the window."""
    return state.cleared_version, state.counts.removed, state.counts.covered + state.counts.erased
