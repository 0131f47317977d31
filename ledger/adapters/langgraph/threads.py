"""The ledger of a saver, usable from any event loop and thread. Source: adapters AD-2, AD-11, LG-11."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ledger.errors import InvalidInput, Unavailable
from ledger.event_loop_thread import EventLoopThread
from ledger.memory import MemoryLedger

T = TypeVar("T")


class LedgerThread:
    """A ledger on an event loop of its own, in a thread, or one that the caller opened on theirs."""

    def __init__(self, opened: MemoryLedger | Callable[[], Any], *, reopens: bool = False) -> None:
        self._opened = opened
        self._reopens = reopens
        self._thread: EventLoopThread[MemoryLedger] | None = None
        self._closed = False

    def open(self) -> None:
        """Open the ledger, unless the caller did."""
        if not isinstance(self._opened, MemoryLedger) and self._thread is None:
            self._thread = EventLoopThread(self._opened, reopens=self._reopens)

    def close(self) -> None:
        """Close what was opened here; afterwards every call raises."""
        self._closed = True
        if self._thread is not None:
            self._thread.close()

    def call(self, work: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Return the result of *work*, called with the ledger, from code that is not asynchronous.

        Raises:
            Unavailable: the ledger is not open.
            InvalidInput: the ledger is the caller's, on their loop.
        """
        if isinstance(self._opened, MemoryLedger):
            raise InvalidInput(
                "wrong_thread",
                "the saver has a `MemoryLedger` of yours: use `ainvoke`, or open it by `LedgerSaver.open`",
            )
        thread = self._running()
        loop = thread.loop()
        result: T = loop.call(lambda: work(loop.value, *args))
        return result

    async def acall(self, work: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Return the result of *work*; cancelled, wait for its end first, so that a write is never left in doubt."""
        if isinstance(self._opened, MemoryLedger):
            if self._closed:
                raise Unavailable("the saver is closed; open it again")
            task: asyncio.Future[T] = asyncio.ensure_future(work(self._opened, *args))
        else:
            self._running()
            task = asyncio.ensure_future(asyncio.to_thread(self.call, work, *args))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

    def _running(self) -> EventLoopThread[MemoryLedger]:
        if self._closed or self._thread is None:
            raise Unavailable("the saver is not open; use it in a `with` or `async with` block")
        return self._thread
