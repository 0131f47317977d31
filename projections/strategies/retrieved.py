"""From a search over a session to the hints of the window ``recall``. Source: R-REC-1, R-REC-4."""

from collections.abc import Iterable, Mapping, Reversible

from projections.entries import Entry
from projections.strategies.base import NO_HINTS, Hints, Recalled, WindowConfig
from projections.strategies.recall import Recall
from projections.tool_pairs import group_interactions
from projections.words.languages import SearchLanguage
from projections.words.ranking import DEFAULT_RANKING, Ranking
from projections.words.searchable_text import words_of
from projections.words.word_index import Why, WordIndex


def hints_for(
    window: WindowConfig,
    entries: Mapping[int, Entry],
    *,
    index: WordIndex | None = None,
    query: str | None = None,
    ranking: Ranking = DEFAULT_RANKING,
) -> Hints:
    """Return the hints of a search for *window*; empty for a window that recalls nothing.

    *entries*, by version and oldest first, are those that may be shown again: active and covered ones since the
    last clear. Without an *index*, they are indexed for this search only; without a *query*, the newest user message is
    the query. The *ranking* counts if the window has none of its own.
    """
    if not isinstance(window, Recall):
        return NO_HINTS
    query = newest_question(list(entries.values())) if query is None else query
    if not query:
        return NO_HINTS
    if index is None:
        index = index_of(entries.values())
    return hints_of(index.explain(query, window.top_k, window.ranking or ranking), homes_of(entries.values()))


def index_of(entries: Iterable[Entry], language: SearchLanguage = "auto") -> WordIndex:
    """Return an index of *entries* by version."""
    return WordIndex(((entry.version, words_of(entry, language)) for entry in entries), language=language)


def homes_of(entries: Iterable[Entry]) -> dict[int, tuple[Entry, ...]]:
    """Return, by version, the interaction of each of *entries*, oldest first; pinned entries have none."""
    return {
        entry.version: interaction.entries
        for interaction in group_interactions(entries)
        for entry in interaction.entries
    }


def hints_of(hits: Iterable[tuple[int, Why]], homes: Mapping[int, tuple[Entry, ...]]) -> Hints:
    """Return *hits* (version, why), best first, each with its interaction."""
    recalled = (Recalled(version, why.score, homes[version], why) for version, why in hits if version in homes)
    return Hints(tuple(recalled), homes)


def newest_question(entries: Reversible[Entry]) -> str:
    """Return the newest user message, or empty text."""
    return next((entry.content for entry in reversed(entries) if entry.starts_interaction), "")
