"""The same memory without ``await``: each method runs on an event loop in a thread of its own.

    with SyncMemoryLedger.open() as ledger:
        ledger.add_user_message("session-1", "How do I add auth?")

A test compares every signature with `MemoryLedger`'s.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal

from ledger.memory import MemoryLedger
from ledger.records.blocking import SyncLongTermMemory
from ledger.sync.reading import Reading
from ledger.sync.trying import Trying
from ledger.sync.writing import Writing


class SyncMemoryLedger(Writing, Reading, Trying):
    """`MemoryLedger`, method by method; may be used from several threads."""

    @classmethod
    @contextmanager
    def open(cls, *args: Any, **kwargs: Any) -> "Iterator[SyncMemoryLedger]":
        """Open as `MemoryLedger.open` does, with its arguments."""
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(MemoryLedger.open(*args, **kwargs)) as ledger,
        ):
            yield cls(portal, ledger)

    @property
    def long_term(self) -> SyncLongTermMemory:
        """See `MemoryLedger.long_term`."""
        return SyncLongTermMemory(self._portal, self._ledger.long_term)
