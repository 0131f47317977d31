"""The one cache of a saver: blobs, messages and threads, the least recently used forgotten first.

Whatever is in it is what the log has, so forgetting any of it costs a look-up and changes no answer: see `KnownBlobs`
and `KnownThreads`, which add and find. Source: adapters LG-13.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

MOST_BYTES: Final = 192 * 1024 * 1024  # of all items together
_ITEM_BYTES: Final = 200  # beside a value


class MemoryCache:
    """Items by key, the most recently used, as many as fit into `MOST_BYTES`."""

    def __init__(self) -> None:
        self._items: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        #: Called with each value that is forgotten since there is no room for it.
        self.forgotten: Callable[[Any], None] = _nothing

    def get(self, key: Hashable) -> Any:
        """Return what was added under *key*, which is then the most recently used; None if it is not in memory."""
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def add(self, key: Hashable, value: Any, size: int) -> None:
        """Remember a *value* of so many bytes in place of the one under *key*, unless it alone is too large."""
        size += _ITEM_BYTES
        self._bytes -= self._items.pop(key, (value, 0))[1]
        if size > MOST_BYTES:
            self.forgotten(value)
            return
        self._items[key] = value, size
        self._bytes += size
        while self._bytes > MOST_BYTES:
            oldest, removed = self._items.popitem(last=False)[1]
            self._bytes -= removed
            self.forgotten(oldest)


def _nothing(value: Any) -> None:
    pass
