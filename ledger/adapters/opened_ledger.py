"""A ledger that an adapter opens, or is given, to be used from any event loop and thread.

Source: adapters AD-2, AD-10, AD-11.

Adapters that are created often, such as one for each conversation, share one ledger of a process.
"""

import asyncio
import atexit
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, Self, TypeVar

import anyio.to_thread

from ledger.application.facade.event_loop_thread import EventLoopThread
from ledger.errors import DatabaseUnavailable, InvalidInput, Unavailable
from ledger.memory import MemoryLedger

T = TypeVar("T")

_TRIES: Final = 3
_PATIENCE_S: Final = 9.0  # longer than the store tries to reach a server that restarts
#: Arguments that a forked child cannot use again.
_NOT_FOR_CHILDREN: Final = frozenset({"store", "summarizer", "embedder"})


class OpenedLedger:
    """Runs work on a ledger: one that was given, on its own event loop, or one that is opened at the first use.

    *what* is the name in the error after `close`. What is opened is shared by all that open it with equal arguments,
    and closed after the last of them, or when the program ends.
    """

    def __init__(
        self,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        ledger: MemoryLedger | None = None,
        what: str,
        **opening: Any,
    ) -> None:
        """Remember what to open; *opening* are other arguments of `MemoryLedger.open`.

        Raises:
            InvalidInput: a ledger was given with what would open another.
        """
        if ledger is not None and (database_url is not None or namespace is not None or opening):
            raise InvalidInput("bad_arguments", "must not be given with what opens another", field="ledger")
        self._given = ledger
        self._what = what
        self._key = (database_url, namespace, *((name, _hashable(opening[name])) for name in sorted(opening)))
        self._open = partial(MemoryLedger.open, database_url, namespace, **opening)
        self._reopens = not _NOT_FOR_CHILDREN & opening.keys()
        self._lock = threading.Lock()
        self._thread: EventLoopThread[MemoryLedger] | None = None
        self._closed = False

    def again(self) -> "OpenedLedger":
        """Return another use of the same ledger, which is closed by itself.

        Raises:
            Unavailable: this was closed.
        """
        self.check_open()
        other = OpenedLedger.__new__(OpenedLedger)
        other.__dict__.update(self.__dict__)
        other._lock, other._thread, other._closed = threading.Lock(), None, False  # noqa: SLF001 - its own
        return other

    async def run(self, work: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Return the result of *work*, called with the ledger and *args*.

        Once begun it is finished, even if the caller is cancelled; then the cancellation is raised.

        Raises:
            Unavailable: it was closed.
        """
        self.check_open()
        if self._given is not None:
            return await _finished(_awaited(work(self._given, *args)))
        return await _in_a_thread(partial(self.call, work, *args))

    async def run_once(self, work: Callable[[MemoryLedger], Awaitable[T]]) -> T:
        """Return the result of *work*, which is `repeated`. Raises as `run` does."""
        return await self.run(repeated(work))

    def check_open(self) -> None:
        """Raise `Unavailable` after `close`."""
        if self._closed:
            raise Unavailable(f"{self._what} is closed; open another")

    async def close(self) -> None:
        """End the use; closing again does nothing."""
        await _in_a_thread(self.leave)

    def leave(self) -> None:
        """End the use as `close` does, without an event loop."""
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
        if thread is not None:
            _shared.leave(self._key)

    def open(self) -> EventLoopThread[MemoryLedger] | None:
        """Open the ledger now, without an event loop; None if it was given.

        Raises:
            Unavailable: it was closed.
            LedgerError: the database cannot be used.
        """
        with self._lock:
            self.check_open()
            if self._given is None and self._thread is None:
                self._thread = _shared.enter(self._key, partial(EventLoopThread, self._open, reopens=self._reopens))
            return self._thread

    def call(self, work: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Return what `run` does, on a ledger that this opened; the caller waits for it, and needs no event loop.

        Raises:
            InvalidInput: the ledger was given, and runs on the event loop of the caller.
            Unavailable: it was closed.
        """
        thread = self.open()
        if thread is None:
            message = f"{self._what} has a ledger of yours: use the asynchronous methods, or let it open one"
            raise InvalidInput("wrong_thread", message)
        loop = thread.loop()
        result: T = loop.call(lambda: work(loop.value, *args))
        return result


def repeated(work: Callable[[MemoryLedger], Awaitable[T]]) -> Callable[[MemoryLedger], Awaitable[T]]:
    """Return what does *work*, which has an idempotency key, again if nobody knows whether it was done.

    After a long wait it is not done again: a caller waits for one deadline of the database, not for several.
    """

    async def tried(ledger: MemoryLedger) -> T:
        clock = asyncio.get_running_loop().time
        until = clock() + _PATIENCE_S
        for _ in range(_TRIES - 1):
            try:
                return await work(ledger)
            except DatabaseUnavailable:
                if clock() > until:
                    raise
        return await work(ledger)

    return tried


class OpenedInBlocks:
    """What opens its ledger at the beginning of a ``with`` or ``async with`` block, and closes it at the end."""

    _opened: OpenedLedger

    def __enter__(self) -> Self:
        self._opened.open()
        return self

    def __exit__(self, *raised: object) -> None:
        self._opened.leave()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._opened.open)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._opened.close()

    def close(self) -> None:
        """Close the ledger that this opened; afterwards every method raises `Unavailable`."""
        self._opened.leave()


class _Shared:
    """The ledgers that adapters of this process opened, each with the number of its users."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: dict[Any, EventLoopThread[MemoryLedger]] = {}
        self._users: Counter[Any] = Counter()

    def enter(self, key: Any, open_: Callable[[], EventLoopThread[MemoryLedger]]) -> EventLoopThread[MemoryLedger]:
        with self._lock:
            if key not in self._opened:
                self._opened[key] = open_()
            self._users[key] += 1
            return self._opened[key]

    def leave(self, key: Any) -> None:
        with self._lock:
            self._users[key] -= 1
            thread = None if self._users[key] else self._opened.pop(key, None)
        if thread is not None:
            thread.close()

    def close(self) -> None:
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
        for thread in opened:
            thread.close(cancel=True)


_shared: Final = _Shared()
atexit.register(_shared.close)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


async def _in_a_thread(call: Callable[[], T]) -> T:
    if _runs_asyncio():
        return await _finished(asyncio.to_thread(call))
    found: list[T] = []
    with anyio.CancelScope(shield=True):
        found.append(await anyio.to_thread.run_sync(call))
    return found[0]


def _runs_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # of trio, which anyio runs too
        return False
    return True


async def _awaited(found: Awaitable[T]) -> T:
    return await found


async def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work*, which goes on if this is cancelled; then the cancellation is raised after it."""
    running = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as fault:
            cancelled = cancelled or fault
    if cancelled is not None:
        if not running.cancelled():
            running.exception()  # seen: the cancellation is what the caller gets
        raise cancelled
    return running.result()
