"""The catch-ups that run in this process: readers that want the same one wait for it together."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeAlias, TypeVar

from ledger.errors import IndexBehind

T = TypeVar("T")

#: Gets (position reached, last position) after each page.
BuildProgress: TypeAlias = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Show no progress."""


class CatchUps:
    """Runs one task for each key; it goes on if those who wait for it are cancelled, or lose patience."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._listeners: dict[Hashable, list[BuildProgress]] = {}

    async def join(
        self,
        key: Hashable,
        work: Callable[[BuildProgress], Coroutine[Any, Any, T]],
        *,
        progress: BuildProgress = silent,
        patience_s: float | None = None,
    ) -> T:
        """Return the result of *work*, or of the work that already runs under *key*.

        Raises:
            IndexBehind: there is none after *patience_s*.
        """
        listeners = self._listeners.setdefault(key, [])
        listeners.append(progress)
        if key not in self._tasks:

            def tell(done: int, total: int) -> None:
                for listener in listeners:
                    listener(done, total)

            self._tasks[key] = asyncio.create_task(work(tell))
            self._tasks[key].add_done_callback(lambda task: self._ended(key, task))
        task = self._tasks[key]
        try:
            await asyncio.wait({task}, timeout=patience_s)
        finally:
            listeners.remove(progress)
        if not task.done():
            raise IndexBehind
        found: T = task.result()
        return found

    async def close(self) -> None:
        """Cancel what runs; the next reader continues it."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, key: Hashable, task: "asyncio.Task[Any]") -> None:
        del self._tasks[key], self._listeners[key]
        if not task.cancelled():
            task.exception()  # those who wait for it raise it; perhaps nobody waits any more
