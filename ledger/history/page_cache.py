"""The contents of pages, read when a read needs them, and held for all sessions of a process together."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.ports import Store
from projections.entries import Entry
from projections.entry_page import EntryPage, PagesMissing
from projections.values.ranges import union

T = TypeVar("T")

_PER_ENTRY_B: Final = 700  # the objects of an entry without its texts


class PageCache:
    """Holds at most *limit_b* bytes of content, by estimate; the least recently read is dropped, and read again."""

    def __init__(self, store: Store, limit_b: int) -> None:
        self._store = store
        self._limit_b = limit_b
        self._held: deque[EntryPage] = deque()
        self._size_b = 0

    async def reading(
        self, stream: Stream, pages: Callable[[], Sequence[EntryPage]], read: Callable[[], Awaitable[T]]
    ) -> T:
        """Return the result of *read*, a read of *pages* of *stream*; it runs again when content was loaded for it."""
        loaded: list[EntryPage] = []  # stays until the end, or reads that run at once would drop each other's content
        around = 0
        try:
            while True:
                try:
                    return await read()
                except PagesMissing as missing:
                    loaded += await self._fill(stream, pages(), missing.pages, around=around)
                    around = 2 * around + 1
        finally:
            for page in loaded:
                page.readers -= 1
            self.trim()

    async def _fill(
        self, stream: Stream, pages: Sequence[EntryPage], missing: Sequence[EntryPage], *, around: int
    ) -> list[EntryPage]:
        """Load the content of the *missing* pages and, so that a long read needs few turns, of *pages* around them.

        Return the loaded pages, each with one reader more.
        """
        wanted = {id(page): page for page in missing}
        for index in [at for at, page in enumerate(pages) if id(page) in wanted] if around else ():
            near = pages[max(0, index - around) : index + around + 1]
            wanted.update((id(page), page) for page in near if page.entries is None)
        needed = union([page.needed for page in wanted.values()])
        events = {event.version: decode(event) for event in await self._store.events.read_versions(stream, needed)}
        for page in wanted.values():
            page.fill(events)
            page.readers += 1
        self.hold(wanted.values())
        return list(wanted.values())

    def hold(self, pages: Iterable[EntryPage]) -> None:
        """Count those of *pages* that have content."""
        for page in pages:
            if page.entries is not None and not page.size_b:
                page.size_b = _size_b(page.entries)
                self._size_b += page.size_b
                self._held.append(page)

    def trim(self) -> None:
        """Drop content beyond the limit, but not what a running read has loaded."""
        for _ in range(2 * len(self._held)):
            if self._size_b <= self._limit_b:
                break
            page = self._held.popleft()
            if page.used or page.readers:  # read since the last look: it gets another turn
                page.used = False
                self._held.append(page)
                continue
            self._size_b -= page.size_b
            page.size_b = 0
            page.drop()


def _size_b(entries: Sequence[Entry]) -> int:
    return sum(
        _PER_ENTRY_B + len(entry.content) + (_json_size_b(entry) if entry.kind != "message" or entry.metadata else 0)
        for entry in entries
    )


def _json_size_b(entry: Entry) -> int:
    return 4 * len(msgspec.json.encode((entry.arguments, entry.data, entry.metadata)))
