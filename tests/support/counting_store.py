"""A store that counts what is read from it."""

from collections.abc import Awaitable, Callable
from typing import Any

from ledger.events import StoredEvent, UndecodedEvent
from tests.faults.intercepted_store import InterceptedStore


class CountingStore(InterceptedStore):
    """Lists the names of its *calls*, and counts the *events* that it has returned."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.calls: list[str] = []
        self.events_read = 0

    def reset(self) -> None:
        """Begin anew."""
        self.calls.clear()
        self.events_read = 0

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Carry out a call and count it."""
        self.calls.append(name)
        found = await method(*args, **options)
        for part in found if isinstance(found, tuple) else (found,):
            if isinstance(part, list):
                self.events_read += sum(isinstance(each, StoredEvent | UndecodedEvent) for each in part)
        return found
