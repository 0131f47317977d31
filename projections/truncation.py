"""Selection of part of a long conversation, without reading the rest.

The functions of `projections.usage` for the entries of a state, computed from what its pages know of their entries; so
reading the newest messages takes as long in a session of 10,000 as in one of 100. If a tool call has its result in
another page, the entries from there on are read, and an answer on two pages is read whole.

Source: R-004-10, http W-17, W-55, W-73.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from ledger.events import Ranges
from projections.entries import Entry
from projections.entry_page import EntryPage, PagesMissing
from projections.paged_entries import PagedEntries
from projections.usage import fitting
from projections.values import ranges

Entries: TypeAlias = PagedEntries


def newest(entries: Entries, count: int) -> tuple[Entry, ...]:
    """Return the last *count* entries, one or more, by their time, as `most_recent` does."""
    chosen: list[tuple[tuple[datetime, int], Entry]] = []
    for part in reversed(_parts(entries)):
        if len(chosen) < count or part.facts.latest > chosen[0][0]:
            for entry in part.read():
                if len(chosen) < count:
                    heapq.heappush(chosen, (entry.time_and_place, entry))
                else:
                    heapq.heappushpop(chosen, (entry.time_and_place, entry))
    return tuple(entry for _, entry in sorted(chosen, key=lambda pair: pair[0]))


def newest_within(entries: Entries, limit: int) -> tuple[Entry, ...]:
    """Return what `fitting` leaves of *entries* in *limit* tokens."""
    parts = _parts(entries)
    tokens = sum(part.facts.tokens for part in parts)
    first = 0
    for part in parts[:-1]:
        if not part.facts.whole or tokens - part.facts.tokens <= limit:
            break
        tokens -= part.facts.tokens
        first += 1
    while first and parts[first - 1].facts.ends_in_answer and parts[first].facts.begins_in_answer:
        first -= 1
    if missing := [part for part in parts[first:] if part.entries is None]:
        raise PagesMissing(missing)
    return fitting([entry for part in parts[first:] for entry in part.read()], limit)


def versions_without(entries: Entries, shown: Sequence[Entry]) -> Ranges:
    """Return the versions of *entries* that are not *shown*; reads no content."""
    shown_versions = sorted(entry.version for entry in shown)
    left: list[Ranges] = []
    for part in _parts(entries):
        here = shown_versions[bisect_left(shown_versions, part.first) : bisect_right(shown_versions, part.last)]
        if not here and part.last - part.first + 1 == part.count:
            left.append(((part.first, part.last),))
        else:
            left.append(ranges.ranges_of(sorted(set(part.versions).difference(here))))
    return ranges.union(left)


def _parts(entries: Entries) -> list[EntryPage]:
    return [*entries.pages, *([EntryPage(entries.tail)] if entries.tail else [])]
