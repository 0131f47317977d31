"""Selection of part of a long conversation, without reading the rest.

The functions of `projections.usage` for the entries of a state, computed from cached values of the parts of the list;
so reading the newest messages takes as long in a session of 10,000 as in one of 100. If a tool call has its result
in another part, the entries from there on are read.

Source: R-004-10, http W-17, W-55, W-73.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

import msgspec

from ledger.events import Ranges
from projections import ranges
from projections.entries import Entry
from projections.paged_entries import PagedEntries
from projections.tool_pairs import orphans
from projections.usage import fitting

Entries: TypeAlias = PagedEntries


class _Part(msgspec.Struct, frozen=True):
    """Cached values of a part: *whole* if no unit reaches out of it, *latest* as `most_recent` orders."""

    tokens: int
    whole: bool
    latest: tuple[datetime, int]
    versions: Ranges


def _part(entries: Sequence[Entry]) -> _Part:
    calls = sum(entry.kind == "tool_call" for entry in entries)
    results = sum(entry.kind == "tool_result" for entry in entries)
    return _Part(
        tokens=sum(entry.tokens for entry in entries),
        whole=calls == results and not orphans((), entries),
        latest=max(_time_and_place(entry) for entry in entries),
        versions=ranges.ranges_of(entry.version for entry in entries),
    )


def newest(entries: Entries, count: int) -> tuple[Entry, ...]:
    """Return the last *count* entries, one or more, by their time, as `most_recent` does."""
    chosen: list[tuple[tuple[datetime, int], Entry]] = []
    for part, known in reversed(entries.measured(_part)):
        if len(chosen) < count or known.latest > chosen[0][0]:
            for entry in part:
                if len(chosen) < count:
                    heapq.heappush(chosen, (_time_and_place(entry), entry))
                else:
                    heapq.heappushpop(chosen, (_time_and_place(entry), entry))
    return tuple(entry for _, entry in sorted(chosen, key=lambda pair: pair[0]))


def newest_within(entries: Entries, limit: int) -> tuple[Entry, ...]:
    """Return what `fitting` leaves of *entries* in *limit* tokens."""
    parts = entries.measured(_part)
    tokens = sum(known.tokens for _, known in parts)
    first = 0
    for _, known in parts[:-1]:
        if not known.whole or tokens - known.tokens <= limit:
            break
        tokens -= known.tokens
        first += 1
    return fitting([entry for part, _ in parts[first:] for entry in part], limit)


def versions_without(entries: Entries, shown: Sequence[Entry]) -> Ranges:
    """Return the versions of *entries* that are not *shown*."""
    shown_versions = sorted(entry.version for entry in shown)
    left: list[Ranges] = []
    for part, known in entries.measured(_part):
        here = shown_versions[
            bisect_left(shown_versions, part[0].version) : bisect_right(shown_versions, part[-1].version)
        ]
        left.append(_less(part, frozenset(here)) if here else known.versions)
    return ranges.union(left)


def _less(part: Sequence[Entry], shown_versions: frozenset[int]) -> Ranges:
    return ranges.ranges_of(entry.version for entry in part if entry.version not in shown_versions)


def _time_and_place(entry: Entry) -> tuple[datetime, int]:
    return entry.moment, entry.version
