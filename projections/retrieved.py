"""From a search over a session to the hints of the window ``recall``. Source: R-REC-1, R-REC-4."""

from collections.abc import Iterable, Mapping, Reversible

from projections.entries import Entry
from projections.strategies.base import NO_HINTS, Hints, Recalled, WindowConfig
from projections.strategies.recall import Recall
from projections.tool_pairs import group_interactions
from projections.word_index import Searcher, WordIndex


def hints_for(
    window: WindowConfig, entries: Mapping[int, Entry], *, searcher: Searcher | None = None, query: str | None = None
) -> Hints:
    """Return the hints of a search for *window*; empty for a window that recalls nothing.

    *entries*, by version and oldest first, are those that may be shown again: active and covered ones since the
    last clear. Without a *searcher*, they are indexed for this search only; without a *query*, the newest user
    message is the query.
    """
    if not isinstance(window, Recall):
        return NO_HINTS
    query = newest_question(list(entries.values())) if query is None else query
    if not query:
        return NO_HINTS
    index = searcher or WordIndex((entry.version, entry.content) for entry in entries.values())
    return hints_of(index.search(query, window.top_k), homes_of(entries.values()))


def homes_of(entries: Iterable[Entry]) -> dict[int, tuple[Entry, ...]]:
    """Return, by version, the interaction of each of *entries*, oldest first; pinned entries have none."""
    return {
        entry.version: interaction.entries
        for interaction in group_interactions(entries)
        for entry in interaction.entries
    }


def hints_of(hits: Iterable[tuple[int, float]], homes: Mapping[int, tuple[Entry, ...]]) -> Hints:
    """Return *hits* (version, score), best first, each with its interaction."""
    return Hints(tuple(Recalled(version, score, homes[version]) for version, score in hits if version in homes))


def newest_question(entries: Reversible[Entry]) -> str:
    """Return the newest user message, or empty text."""
    return next((entry.content for entry in reversed(entries) if entry.starts_interaction), "")
