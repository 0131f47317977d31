"""The active entries in pages whose content may be absent: a state costs the same at any length.

A page knows the versions and the tokens of its entries without their content. Pure code reads entries as from a list;
where content is absent, the read raises `PagesMissing`, and the caller fills the pages from the log and reads again.
New entries are in small pages, so that a short window needs little; older ones are merged into large pages.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

import msgspec

from ledger.errors import LogCorrupted
from ledger.events import EntryAdded, EntryEdited, Ranges, RecordedEvent
from projections import ranges
from projections.entries import Entry, added, edited
from projections.versions import pack, unpack

M = TypeVar("M")
P = TypeVar("P", "Page", "Facts")

SMALL = 32  # entries
YOUNG = 16  # so many of the newest pages stay small


class Facts(msgspec.Struct, frozen=True, array_like=True):
    """What a page knows of its entries without their content.

    An edit is the version of an entry, that of its newest edit, and its role.
    """

    versions: bytes
    count: int
    first: int
    last: int
    tokens: int
    edits: tuple[tuple[int, int, str], ...]
    pinned: tuple[int, ...]
    pinned_tokens: int
    #: How many user messages it has.
    users: int
    #: The version of its oldest tool call, 0 if it has none.
    first_call: int
    has_results: bool


class PagesMissing(Exception):
    """Raised by a read whose *pages* are absent; never seen by a caller of the library."""

    def __init__(self, pages: "Sequence[Page]") -> None:
        super().__init__("pages of a state are not loaded")
        self.pages = tuple(pages)


class Page:
    """Some entries in a row, at least one. Their content can be dropped and filled again; nothing else changes."""

    __slots__ = ("_facts", "_measured", "entries", "readers", "size_b", "used")

    def __init__(self, entries: tuple[Entry, ...] | None, facts: Facts | None = None) -> None:
        self.entries = entries
        self._facts = facts
        self._measured: dict[Any, Any] = {}
        #: For a cache of pages: the bytes counted for it, the running reads that loaded it, and whether it was read
        #: since the last look.
        self.size_b = 0
        self.readers = 0
        self.used = True

    def owned(self) -> "Page":
        """Return a page with the same content, which is not dropped with this one's."""
        page = Page(self.read(), self._facts)
        page._measured = self._measured
        return page

    @property
    def facts(self) -> Facts:
        """What is known without the content."""
        if self._facts is None:
            self._facts = _facts_of(self.read())
        return self._facts

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.entries) if self.entries is not None else self.facts.count

    @property
    def first(self) -> int:
        """The version of the oldest entry."""
        return self.entries[0].version if self.entries is not None else self.facts.first

    @property
    def last(self) -> int:
        """The version of the newest entry."""
        return self.entries[-1].version if self.entries is not None else self.facts.last

    @property
    def needed(self) -> Ranges:
        """The versions of the events that its content comes from."""
        edits = sorted(at for _, at, _ in self.facts.edits)
        return ranges.union([ranges.ranges_of(self.versions), ranges.ranges_of(edits)])

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the entries."""
        if self.entries is not None:
            return tuple(entry.version for entry in self.entries)
        return unpack(self.facts.versions)

    def has(self, version: int) -> bool:
        """Tell whether the entry of *version* is in it."""
        return self.first <= version <= self.last and version in self.versions

    def read(self) -> tuple[Entry, ...]:
        """Return the entries.

        Raises:
            PagesMissing: the content is absent.
        """
        if self.entries is None:
            raise PagesMissing([self])
        self.used = True
        return self.entries

    def measured(self, measure: Callable[[Sequence[Entry]], M]) -> M:
        """Return the result of the pure *measure*, computed once."""
        if measure not in self._measured:
            self._measured[measure] = measure(self.read())
        known: M = self._measured[measure]
        return known

    def fill(self, events: Mapping[int, RecordedEvent]) -> None:
        """Take the content from *events*, by version.

        Raises:
            LogCorrupted: an event is not there or of another type.
        """
        edits = {version: (at, role) for version, at, role in self.facts.edits}
        self.entries = tuple(_entry(events, version, edits.get(version)) for version in unpack(self.facts.versions))
        self.used = True

    def drop(self) -> None:
        """Forget the content."""
        self._facts = self.facts
        self.entries = None


class EntryPages:
    """An immutable list of entries, oldest first, whose append costs the same at any length."""

    __slots__ = ("length", "pages", "tail")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        flat = tuple(entries)
        full = len(flat) - len(flat) % SMALL
        self.pages: tuple[Page, ...] = tuple(
            _settled([Page(flat[at : at + SMALL]) for at in range(0, full, SMALL)], _joined)
        )
        self.tail: tuple[Entry, ...] = flat[full:]
        self.length = len(flat)

    @classmethod
    def of(cls, pages: tuple[Page, ...], tail: tuple[Entry, ...] = ()) -> "EntryPages":
        """Return the list of the entries in *pages* and, after them, in *tail*."""
        return cls._of(pages, tail, sum(page.count for page in pages) + len(tail))

    @classmethod
    def _of(cls, pages: tuple[Page, ...], tail: tuple[Entry, ...], length: int) -> "EntryPages":
        copy = cls.__new__(cls)
        copy.pages, copy.tail, copy.length = pages, tail, length
        return copy

    def owned(self) -> "EntryPages":
        """Return the list with pages of its own, whose content nobody drops."""
        _read(self.pages)
        return self._of(tuple(page.owned() for page in self.pages), self.tail, self.length)

    @property
    def facts(self) -> tuple[Facts, ...]:
        """The facts of all pages, as few as possible; the tail is the last of them."""
        facts = [*(page.facts for page in self.pages), *([_facts_of(self.tail)] if self.tail else [])]
        return tuple(_settled(facts, _joined_facts))

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

    def append(self, entry: Entry) -> "EntryPages":
        """Return a list with *entry* at its end."""
        return self.extend((entry,))

    def extend(self, entries: Iterable[Entry]) -> "EntryPages":
        """Return a list with *entries* at its end, as if each had been appended."""
        flat = (*self.tail, *entries)
        full = len(flat) - len(flat) % SMALL
        pages = self.pages
        for at in range(0, full, SMALL):
            pages = (*pages, Page(flat[at : at + SMALL]))
            if len(pages) >= 2 * YOUNG and pages[-2 * YOUNG].count <= SMALL:
                pages = (*pages[: -2 * YOUNG], *_joined(list(pages[-2 * YOUNG : -YOUNG])), *pages[-YOUNG:])
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

    def within(self, covered: Ranges) -> tuple[Entry, ...]:
        """Return the entries in *covered*, oldest first."""
        touched: dict[int, Page] = {}
        for first, last in covered:
            for index in range(bisect_left(self.pages, first, key=_last), len(self.pages)):
                page = self.pages[index]
                if page.first > last:
                    break
                if first != last or page.has(first):
                    touched[index] = page
        entries = chain(*_read([touched[index] for index in sorted(touched)]), self.tail)
        return tuple(entry for entry in entries if ranges.contains(covered, entry.version))

    def replace(self, version: int, change: Callable[[Entry], Entry]) -> "EntryPages":
        """Return the list with the result of *change* in place of the entry of *version*."""
        index = bisect_left(self.pages, version, key=_last)
        old = self.pages[index].read() if index < len(self.pages) else self.tail
        new = tuple(change(entry) if entry.version == version else entry for entry in old)
        if index == len(self.pages):
            return self._of(self.pages, new, self.length)
        return self._of((*self.pages[:index], Page(new), *self.pages[index + 1 :]), self.tail, self.length)

    def without(self, covered: Ranges) -> "tuple[EntryPages, Removed]":
        """Return the list without the entries in *covered*, and what left it; pages that leave whole are not read."""
        staying: list[Page] = []
        split: list[Page] = []
        gone: list[Page] = []
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
                staying.append(page if len(left) == len(entries) else Page(left))
        tail = tuple(entry for entry in self.tail if not ranges.contains(covered, entry.version))
        kinds = {entry.kind for entry in removed}
        return EntryPages.of(tuple(_settled(sorted(staying, key=_last), _joined)), tail), Removed(
            "tool_call" in kinds or any(page.facts.first_call for page in gone),
            "tool_result" in kinds or any(page.facts.has_results for page in gone),
        )

    def measured(self, measure: Callable[[Sequence[Entry]], M]) -> list[tuple[Sequence[Entry], M]]:
        """Return the parts of the list in order, none empty, each with the result of the pure *measure*.

        Results are cached per part, so a query over a long list costs little for most parts.
        """
        contents = _read(self.pages)
        parts: list[tuple[Sequence[Entry], M]] = [
            (entries, page.measured(measure)) for page, entries in zip(self.pages, contents, strict=True)
        ]
        return [*parts, (self.tail, measure(self.tail))] if self.tail else parts

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
        ends = self.length - len(self.tail)
        wanted: list[Page] = []
        first = ends
        for page in reversed(self.pages):
            if first <= start:
                break
            first -= page.count
            if first < stop:
                wanted.append(page)
            else:
                ends = first
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
        if not isinstance(other, EntryPages):
            return NotImplemented
        return self is other or (len(self) == len(other) and tuple(self) == tuple(other))

    def __hash__(self) -> int:
        return hash((self.length, self.last_version))

    def __repr__(self) -> str:
        return f"EntryPages({self.length} entries in {len(self.pages)} pages)"


class Removed(msgspec.Struct, frozen=True):
    """Whether removed entries include tool calls, and results."""

    calls: bool
    results: bool


def _read(pages: Sequence[Page]) -> list[tuple[Entry, ...]]:
    missing = [page for page in pages if page.entries is None]
    if missing:
        raise PagesMissing(missing)
    return [page.read() for page in pages]


def _last(page: Page) -> int:
    return page.last


def _touches(covered: Ranges, first: int, last: int) -> bool:
    at = bisect_right(covered, last, key=lambda pair: pair[0]) - 1
    return at >= 0 and covered[at][1] >= first


def _settled(parts: Sequence[P], joined: Callable[[list[P]], list[P]]) -> list[P]:
    """Return *parts* with neighbours *joined*, except for the newest."""
    groups: list[list[P]] = []
    for part in parts[: max(0, len(parts) - YOUNG)]:
        if groups and sum(other.count for other in groups[-1]) + part.count <= SMALL * YOUNG:
            groups[-1].append(part)
        else:
            groups.append([part])
    settled: list[P] = []
    for group in groups:
        settled.extend(joined(group) if len(group) > 1 else group)
    settled.extend(parts[max(0, len(parts) - YOUNG) :])
    return settled


def _joined(pages: list[Page]) -> list[Page]:
    """Return *pages* as one; as they are if one is absent, because a fill would not reach the new page."""
    contents = [page.entries for page in pages]
    return pages if None in contents else [Page(tuple(chain(*(entries or () for entries in contents))))]


def _joined_facts(parts: list[Facts]) -> list[Facts]:
    return [
        Facts(
            pack(tuple(chain(*(unpack(part.versions) for part in parts)))),
            sum(part.count for part in parts),
            parts[0].first,
            parts[-1].last,
            sum(part.tokens for part in parts),
            tuple(chain(*(part.edits for part in parts))),
            tuple(chain(*(part.pinned for part in parts))),
            sum(part.pinned_tokens for part in parts),
            sum(part.users for part in parts),
            next((part.first_call for part in parts if part.first_call), 0),
            any(part.has_results for part in parts),
        )
    ]


def _facts_of(entries: Sequence[Entry]) -> Facts:
    pinned = [entry for entry in entries if entry.pinned]
    return Facts(
        pack([entry.version for entry in entries]),
        len(entries),
        entries[0].version,
        entries[-1].version,
        sum(entry.tokens for entry in entries),
        tuple((entry.version, entry.edited_version, entry.role) for entry in entries if entry.edited_version),
        tuple(entry.version for entry in pinned),
        sum(entry.tokens for entry in pinned),
        sum(entry.starts_interaction for entry in entries),
        next((entry.version for entry in entries if entry.kind == "tool_call"), 0),
        any(entry.kind == "tool_result" for entry in entries),
    )


def _entry(events: Mapping[int, RecordedEvent], version: int, edit: tuple[int, str] | None) -> Entry:
    event = events.get(version)
    if event is None or not isinstance(event.payload, EntryAdded):
        raise LogCorrupted(f"version {version} is not an entry; run `memory-ledger verify`")
    entry = added(event, event.payload)
    if edit is None:
        return entry
    at, role = edit
    change = events.get(at)
    if change is None or not isinstance(change.payload, EntryEdited):
        raise LogCorrupted(f"version {at} is not an edit; run `memory-ledger verify`")
    return msgspec.structs.replace(edited(entry, change, change.payload), role=role)  # an earlier edit may have set it
