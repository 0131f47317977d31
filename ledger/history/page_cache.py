"""The contents of pages that a process holds, of all sessions together: the least recently read are dropped."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from projections.entries import Entry
from projections.entry_page import EntryPage

_PER_ENTRY_B: Final = 700  # the objects of an entry without its texts


class PageCache:
    """Holds at most *limit_b* bytes of content, by estimate; dropped content is read from the log again."""

    def __init__(self, limit_b: int) -> None:
        self._limit_b = limit_b
        self._held: deque[EntryPage] = deque()
        self._size_b = 0

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
