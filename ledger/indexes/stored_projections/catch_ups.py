"""The catch-ups that run in this process: readers that want the same one wait for it together."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ledger.errors import IndexBehind

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: Gets (position reached, last position) after each page.
BuildProgress: TypeAlias = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Show no progress."""


class CatchUps:
    """Runs at most one task for a key; it goes on if those who wait for it are cancelled, or lose patience."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[Mapping[Any, Any]]] = {}
        self._listeners: dict[Hashable, list[BuildProgress]] = {}

    async def join(
        self,
        key: K,
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

        def tell(done: int, total: int) -> None:
            for listener in listeners:
                listener(done, total)

        async def alone(keys: Collection[K]) -> dict[K, T]:
            return {key: await work(tell)}

        try:
            return (await self.join_all([[key]], alone, patience_s=patience_s))[key]
        finally:
            listeners.remove(progress)

    async def join_all(
        self,
        batches: Sequence[Collection[K]],
        work: Callable[[Collection[K]], Coroutine[Any, Any, Mapping[K, T]]],
        *,
        patience_s: float | None = None,
    ) -> dict[K, T]:
        """Return the result for each key in *batches*.

        *work* runs once for each batch, with those of its keys for which nothing runs already.

        Raises:
            IndexBehind: some have none after *patience_s*.
        """
        waiting: dict[K, asyncio.Task[Mapping[Any, Any]]] = {}
        for batch in batches:
            waiting |= {key: self._tasks[key] for key in batch if key in self._tasks}
            if new := [key for key in batch if key not in waiting]:
                task = asyncio.create_task(work(new))
                waiting |= dict.fromkeys(new, task)
                self._tasks |= dict.fromkeys(new, task)
                task.add_done_callback(partial(self._ended, new))
        if not waiting:
            return {}
        _, late = await asyncio.wait(set(waiting.values()), timeout=patience_s)
        if late:
            raise IndexBehind
        return {key: task.result()[key] for key, task in waiting.items()}

    async def close(self) -> None:
        """Cancel what runs; the next reader continues it."""
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, keys: Iterable[Hashable], task: "asyncio.Task[Mapping[Any, Any]]") -> None:
        for key in keys:
            del self._tasks[key]
            self._listeners.pop(key, None)
        if not task.cancelled():
            task.exception()  # those who wait for it raise it; perhaps nobody waits any more
