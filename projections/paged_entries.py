"""The active entries as an immutable list of pages, which reads no more of them than a use needs."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import overload

import msgspec

from ledger.events import Ranges
from projections import entry_page
from projections.entries import Entry
from projections.entry_page import EntryPage, PageFacts, PagesMissing, facts_of, joined_facts, joined_pages, settled
from projections.values import ranges


class PagedEntries:
    """An immutable list of entries, oldest first, whose append costs the same at any length."""

    __slots__ = ("length", "pages", "tail")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        flat = tuple(entries)
        small = entry_page.SMALL
        full = len(flat) - len(flat) % small
        self.pages: tuple[EntryPage, ...] = tuple(
            settled([EntryPage(flat[at : at + small]) for at in range(0, full, small)], joined_pages)
        )
        self.tail: tuple[Entry, ...] = flat[full:]
        self.length = len(flat)

    @classmethod
    def of(cls, pages: tuple[EntryPage, ...], tail: tuple[Entry, ...] = ()) -> "PagedEntries":
        """Return the list of the entries in *pages* and, after them, in *tail*."""
        return cls._of(pages, tail, sum(page.count for page in pages) + len(tail))

    @classmethod
    def _of(cls, pages: tuple[EntryPage, ...], tail: tuple[Entry, ...], length: int) -> "PagedEntries":
        copy = cls.__new__(cls)
        copy.pages, copy.tail, copy.length = pages, tail, length
        return copy

    def owned(self) -> "PagedEntries":
        """Return the list with pages of its own, whose content nobody drops."""
        _read(self.pages)
        return self._of(tuple(page.owned() for page in self.pages), self.tail, self.length)

    @property
    def facts(self) -> tuple[PageFacts, ...]:
        """The facts of all pages, as few as possible; the tail is the last of them."""
        facts = [*(page.facts for page in self.pages), *([facts_of(self.tail)] if self.tail else [])]
        return tuple(settled(facts, joined_facts))

    @property
    def first_version(self) -> int | None:
        """The version of the oldest entry, None if there is none."""
        if self.pages:
            return self.pages[0].first
        return self.tail[0].version if self.tail else None

    @property
    def last_version(self) -> int | None:
        """The version of the newest entry, None if there is none."""
        if self.tail:
            return self.tail[-1].version
        return self.pages[-1].last if self.pages else None

    @property
    def versions(self) -> Iterator[int]:
        """The versions of the entries, ascending; reads no content."""
        return chain(*(page.versions for page in self.pages), (entry.version for entry in self.tail))

    @property
    def first_call(self) -> int:
        """The version of the oldest tool call, 0 if there is none; reads no content."""
        in_pages = (page.facts.first_call for page in self.pages)
        in_tail = (entry.version for entry in self.tail if entry.kind == "tool_call")
        return next((version for version in chain(in_pages, in_tail) if version), 0)

    @property
    def last(self) -> Entry:
        """The newest entry.

        Raises:
            IndexError: the list is empty.
        """
        return self.tail[-1] if self.tail else self[-1]

    def append(self, entry: Entry) -> "PagedEntries":
        """Return a list with *entry* at its end."""
        return self.extend((entry,))

    def extend(self, entries: Iterable[Entry]) -> "PagedEntries":
        """Return a list with *entries* at its end, as if each had been appended."""
        small, young = entry_page.SMALL, entry_page.YOUNG
        flat = (*self.tail, *entries)
        full = len(flat) - len(flat) % small
        pages = self.pages
        for at in range(0, full, small):
            pages = (*pages, EntryPage(flat[at : at + small]))
            if len(pages) >= 2 * young and pages[-2 * young].count <= small:
                pages = (*pages[: -2 * young], *joined_pages(list(pages[-2 * young : -young])), *pages[-young:])
        return self._of(pages, flat[full:], self.length - len(self.tail) + len(flat))

    def at(self, version: int) -> Entry | None:
        """Return the entry of *version*."""
        return next(iter(self.within(((version, version),))), None)

    def has(self, version: int) -> bool:
        """Tell whether the entry of *version* is in the list; reads no content."""
        index = bisect_left(self.pages, version, key=_last)
        if index < len(self.pages):
            return self.pages[index].has(version)
        return any(entry.version == version for entry in self.tail)

    def count_before(self, version: int) -> int:
        """Return how many entries have a version below *version*."""
        index = bisect_left(self.pages, version, key=_last)
        part = self.pages[index].read() if index < len(self.pages) else self.tail
        return sum(page.count for page in self.pages[:index]) + bisect_left(part, version, key=_version)

    def within(self, covered: Ranges) -> tuple[Entry, ...]:
        """Return the entries in *covered*, oldest first."""
        if not self.pages and len(covered) == 1:
            return _between(self.tail, *covered[0])
        touched: dict[int, EntryPage] = {}
        for first, last in covered:
            for index in range(bisect_left(self.pages, first, key=_last), len(self.pages)):
                page = self.pages[index]
                if page.first > last:
                    break
                if first != last or page.has(first):
                    touched[index] = page
        parts = [*_read([touched[index] for index in sorted(touched)]), self.tail]
        if len(covered) == 1:  # as a strategy asks, many times, for the entries of an item
            return tuple(chain(*(_between(part, *covered[0]) for part in parts)))
        return tuple(entry for entry in chain(*parts) if ranges.contains(covered, entry.version))

    def replace(self, version: int, change: Callable[[Entry], Entry]) -> "PagedEntries":
        """Return the list with the result of *change* in place of the entry of *version*."""
        index = bisect_left(self.pages, version, key=_last)
        old = self.pages[index].read() if index < len(self.pages) else self.tail
        new = tuple(change(entry) if entry.version == version else entry for entry in old)
        if index == len(self.pages):
            return self._of(self.pages, new, self.length)
        return self._of((*self.pages[:index], EntryPage(new), *self.pages[index + 1 :]), self.tail, self.length)

    def without(self, covered: Ranges) -> "tuple[PagedEntries, Removed]":
        """Return the list without the entries in *covered*, and what left it; pages that leave whole are not read."""
        staying: list[EntryPage] = []
        split: list[EntryPage] = []
        gone: list[EntryPage] = []
        for page in self.pages:
            if not _touches(covered, page.first, page.last):
                staying.append(page)
            elif all(ranges.contains(covered, version) for version in page.versions):
                gone.append(page)
            else:
                split.append(page)
        removed = [entry for entry in self.tail if ranges.contains(covered, entry.version)]
        for page, entries in zip(split, _read(split), strict=True):
            left = tuple(entry for entry in entries if not ranges.contains(covered, entry.version))
            removed += [entry for entry in entries if ranges.contains(covered, entry.version)]
            if left:
                staying.append(page if len(left) == len(entries) else EntryPage(left))
        tail = tuple(entry for entry in self.tail if not ranges.contains(covered, entry.version))
        kinds = {entry.kind for entry in removed}
        return PagedEntries.of(tuple(settled(sorted(staying, key=_last), joined_pages)), tail), Removed(
            "tool_call" in kinds or any(page.facts.first_call for page in gone),
            "tool_result" in kinds or any(page.facts.has_results for page in gone),
        )

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.length)
            return self._between(start, stop)[::step] if step > 0 else [self[at] for at in range(start, stop, step)]
        at = index + self.length if index < 0 else index
        if not 0 <= at < self.length:
            raise IndexError(index)
        return self._between(at, at + 1)[0]

    def _between(self, start: int, stop: int) -> list[Entry]:
        """Return the entries from place *start* up to *stop*; the newest are found first."""
        wanted: list[EntryPage] = []
        first = self.length - len(self.tail)
        for page in reversed(self.pages):
            if first <= start:
                break
            first -= page.count
            if first < stop:
                wanted.append(page)
        found = [*chain(*_read(wanted[::-1])), *(self.tail if stop > self.length - len(self.tail) else ())]
        return found[start - first : stop - first] if stop > start else []

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Entry]:
        return chain(*_read(self.pages), self.tail)

    def __reversed__(self) -> Iterator[Entry]:
        yield from reversed(self.tail)
        for page in reversed(self.pages):
            yield from reversed(page.read())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PagedEntries):
            return NotImplemented
        return self is other or (len(self) == len(other) and tuple(self) == tuple(other))

    def __hash__(self) -> int:
        return hash((self.length, self.last_version))

    def __repr__(self) -> str:
        return f"PagedEntries({self.length} entries in {len(self.pages)} pages)"


class Removed(msgspec.Struct, frozen=True):
    """Whether removed entries include tool calls, and results."""

    calls: bool
    results: bool


def _read(pages: Sequence[EntryPage]) -> list[tuple[Entry, ...]]:
    if not pages:
        return []
    missing = [page for page in pages if page.entries is None]
    if missing:
        raise PagesMissing(missing)
    return [page.read() for page in pages]


def _between(entries: tuple[Entry, ...], first: int, last: int) -> tuple[Entry, ...]:
    low = bisect_left(entries, first, key=_version)
    return entries[low : bisect_right(entries, last, lo=low, key=_version)]


_version = attrgetter("version")
_last = attrgetter("last")


def _touches(covered: Ranges, first: int, last: int) -> bool:
    at = bisect_right(covered, last, key=lambda pair: pair[0]) - 1
    return at >= 0 and covered[at][1] >= first
