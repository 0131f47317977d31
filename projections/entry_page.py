"""Pages of entries whose content may be absent: a state costs the same at any length.

A page knows the versions and the tokens of its entries without their content. Where content is absent, a read raises
`PagesMissing`, and the caller fills the pages from the log and reads again. New entries are in small pages, so that a
short window needs little; older ones are merged into large pages.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TypeVar

import msgspec

from ledger.errors import LogCorrupted
from ledger.events import EntryAdded, EntryEdited, Ranges, RecordedEvent
from projections.entries import Entry, added, edited
from projections.tool_pairs import orphans
from projections.values import ranges
from projections.values.packed_versions import pack, unpack

P = TypeVar("P", "EntryPage", "PageFacts")

SMALL = 32  # entries
YOUNG = 16  # so many of the newest pages stay small


class PageFacts(msgspec.Struct, frozen=True, array_like=True):
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
    #: Whether every call has its result in the page, and every result its call.
    whole: bool
    #: Whether its oldest entry is the assistant's, and its newest: an answer may begin before it, and go on after it.
    begins_in_answer: bool
    ends_in_answer: bool
    #: The newest by time, as `Entry.time_and_place`.
    latest: tuple[datetime, int]


class PagesMissing(Exception):
    """Raised by a read whose *pages* are absent; never seen by a caller of the library."""

    def __init__(self, pages: "Sequence[EntryPage]") -> None:
        super().__init__("pages of a state are not loaded")
        self.pages = tuple(pages)


class EntryPage:
    """Some entries in a row, at least one. Their content can be dropped and filled again; nothing else changes."""

    __slots__ = ("_facts", "entries", "readers", "size_b", "used")

    def __init__(self, entries: tuple[Entry, ...] | None, facts: PageFacts | None = None) -> None:
        self.entries = entries
        self._facts = facts
        #: For a cache of pages: the bytes counted for it, the running reads that loaded it, and whether it was read
        #: since the last look.
        self.size_b = 0
        self.readers = 0
        self.used = True

    def owned(self) -> "EntryPage":
        """Return a page with the same content, which is not dropped with this one's."""
        return EntryPage(self.read(), self._facts)

    @property
    def facts(self) -> PageFacts:
        """What is known without the content."""
        if self._facts is None:
            self._facts = facts_of(self.read())
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


def settled(parts: Sequence[P], joined: Callable[[list[P]], list[P]]) -> list[P]:
    """Return *parts* with neighbours *joined*, except for the newest."""
    groups: list[list[P]] = []
    for part in parts[: max(0, len(parts) - YOUNG)]:
        if groups and sum(other.count for other in groups[-1]) + part.count <= SMALL * YOUNG:
            groups[-1].append(part)
        else:
            groups.append([part])
    found: list[P] = []
    for group in groups:
        found.extend(joined(group) if len(group) > 1 else group)
    found.extend(parts[max(0, len(parts) - YOUNG) :])
    return found


def joined_pages(pages: list[EntryPage]) -> list[EntryPage]:
    """Return *pages* as one; as they are if one is absent, because a fill would not reach the new page."""
    contents = [page.entries for page in pages]
    return pages if None in contents else [EntryPage(tuple(chain(*(entries or () for entries in contents))))]


def joined_facts(parts: list[PageFacts]) -> list[PageFacts]:
    """Return the facts of several pages in a row as those of one."""
    return [
        PageFacts(
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
            all(part.whole for part in parts),
            parts[0].begins_in_answer,
            parts[-1].ends_in_answer,
            max(part.latest for part in parts),
        )
    ]


def facts_of(entries: Sequence[Entry]) -> PageFacts:
    """Return the facts of a page with these entries, at least one."""
    pinned = [entry for entry in entries if entry.pinned]
    calls = sum(entry.kind == "tool_call" for entry in entries)
    results = sum(entry.kind == "tool_result" for entry in entries)
    return PageFacts(
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
        results > 0,
        calls == results and (not results or not orphans((), entries)),
        entries[0].answers,
        entries[-1].answers,
        max(entry.time_and_place for entry in entries),
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
