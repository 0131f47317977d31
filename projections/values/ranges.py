"""Sets of versions as inclusive pairs, ascending and not adjacent: ``((1, 90), (93, 93))``.

Events and summaries store what they cover in this form, so their size does not grow with it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from ledger.events import Ranges


def ranges_of(versions: Iterable[int]) -> Ranges:
    """Return ascending *versions* as ranges of consecutive numbers."""
    ranges: list[tuple[int, int]] = []
    for version in versions:
        if ranges and ranges[-1][1] == version - 1:
            ranges[-1] = (ranges[-1][0], version)
        else:
            ranges.append((version, version))
    return tuple(ranges)


def add(ranges: Ranges, version: int) -> Ranges:
    """Return *ranges* with *version* added, which is above all others."""
    if ranges and ranges[-1][1] == version - 1:
        return (*ranges[:-1], (ranges[-1][0], version))
    return (*ranges, (version, version))


def union(parts: Iterable[Ranges]) -> Ranges:
    """Return the versions in any of *parts*, which may be in any order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pair for part in parts for pair in part):
        if merged and merged[-1][1] >= first - 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


def contains(ranges: Ranges, version: int) -> bool:
    """Tell whether *version* is in *ranges*."""
    at = bisect_right(ranges, version, key=lambda pair: pair[0]) - 1
    return at >= 0 and version <= ranges[at][1]


def overlap(item: Ranges, other: Ranges) -> bool:
    """Tell whether any version is in both."""
    return any(first <= end and start <= last for first, last in item for start, end in other)


def size(ranges: Ranges) -> int:
    """Return how many versions are in *ranges*."""
    return sum(last - first + 1 for first, last in ranges)


def versions(ranges: Ranges) -> Iterator[int]:
    """Yield each version in *ranges*, ascending."""
    for first, last in ranges:
        yield from range(first, last + 1)
