"""Asynchronous objects used without ``await``: their event loop runs in its own thread.

A thread does not survive a fork. A child process opens its own objects, if plain settings are enough for that, and
gets an error otherwise. It neither uses nor frees the parent's objects, because the connections are the parent's.
"""

import asyncio
import atexit
import inspect
import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, Generic, Self, TypeVar
from weakref import WeakSet

from ledger.errors import InvalidInput, Unavailable
from ledger.ports.lone_calls import keeps_nobody_waiting

T = TypeVar("T")

_CLOSED: Final = "the ledger is closed; open it again"
_CLOSED_MEANWHILE: Final = (
    "the ledger was closed during the call, which may have been carried out; open it again and read what is stored"
)
_OF_ANOTHER_PROCESS: Final = (
    "the ledger was opened in another process, before a fork, with a store, summarizer, embedder or handler that "
    "cannot be shared; open it in this process"
)
_ON_ITS_LOOP: Final = (
    "code that the ledger runs on its event loop, such as an `async` handler, cannot wait for the same ledger; "
    "use an ordinary function, and read the lines of an import before it starts"
)
_NEVER_CLOSED: Final = "a ledger was not closed; call its `close`, or open it in a `with` block"


class _Call:
    """A call that a thread waits for."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.task: asyncio.Task[None] | None = None
        self._running = threading.Lock()  # a Future takes ten times as long
        self._running.acquire()
        self._result: Any = None
        self._fault: BaseException | None = None

    def end(self, result: Any, fault: BaseException | None = None) -> None:
        """Let the thread go on."""
        self._result, self._fault = result, fault
        self._running.release()

    def wait(self) -> Any:
        """Return the result, or raise the fault."""
        self._running.acquire()
        fault, self._fault = self._fault, None
        try:
            if fault is not None:
                raise fault
            return self._result
        finally:
            del fault  # it has this frame


class _Loop(Generic[T]):
    """An event loop in a thread of this process, and the value that is open on it."""

    def __init__(self, manager: AbstractAsyncContextManager[T]) -> None:
        self.pid = os.getpid()
        self._calls: set[_Call] = set()  # those that have not ended
        self._opened: Future[T] = Future()
        self._fault: BaseException | None = None
        self._cancels = self.is_closing = False
        self._loop = asyncio.new_event_loop()
        self._main = self._loop.create_task(self._live(manager))
        self._thread = threading.Thread(target=self._run, name="memory-ledger", daemon=True)
        self._thread.start()
        try:
            self.value = self._opened.result()
        except BaseException:
            self.close(cancel=True)
            raise
        _loops.add(self)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the result of *function*, async or not, called on the loop."""
        if self.pid != os.getpid():
            raise Unavailable(_OF_ANOTHER_PROCESS)
        if self._thread.ident == threading.get_ident():
            raise InvalidInput("wrong_thread", _ON_ITS_LOOP)
        call = _Call(function, args)
        self._calls.add(call)
        try:
            self._loop.call_soon_threadsafe(self._start, call)
        except RuntimeError:  # the loop has ended
            raise Unavailable(_CLOSED) from None
        return call.wait()

    def close(self, *, cancel: bool) -> None:
        """Close the value, and end the thread; *cancel* the calls that are then still running, or wait for them."""
        if self._thread.ident == threading.get_ident():
            raise InvalidInput("wrong_thread", _ON_ITS_LOOP)
        self.abandon(cancel=cancel)
        self._thread.join()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def abandon(self, *, cancel: bool) -> None:
        """Begin to close, and do not wait for it."""
        self._cancels = self._cancels or cancel
        if not self.is_closing:
            self.is_closing = True
            with suppress(RuntimeError):  # it could not be opened
                self._loop.call_soon_threadsafe(self._main.cancel)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop):
                self._loop.run_until_complete(self._main)
        except BaseException as fault:  # noqa: BLE001 - who opened or closes the value gets it
            if self._opened.done():
                self._fault = fault
            else:
                self._opened.set_exception(fault)
        finally:
            for call in tuple(self._calls):  # those that came too late to start
                call.end(None, Unavailable(_CLOSED))

    async def _live(self, manager: AbstractAsyncContextManager[T]) -> None:
        async with manager as value:
            self._opened.set_result(value)
            try:
                await self._loop.create_future()
            except asyncio.CancelledError:  # by `abandon`
                self._main.uncancel()
        running = [call.task for call in tuple(self._calls) if call.task is not None]
        if running and not self._cancels:
            await asyncio.wait(running)

    def _start(self, call: _Call) -> None:
        if not self._main.done():  # or `_run` ends the call: a task would never begin
            call.task = self._loop.create_task(self._execute(call))

    async def _execute(self, call: _Call) -> None:
        keeps_nobody_waiting.set(self._has_one_call)
        result: Any = None
        fault: BaseException | None = None
        try:
            result = call.function(*call.args)
            if inspect.isawaitable(result):
                result = await result
        except asyncio.CancelledError:
            fault = Unavailable(_CLOSED_MEANWHILE)
        except BaseException as raised:  # noqa: BLE001 - the caller gets it
            fault = raised
        self._calls.discard(call)
        call.end(result, fault)
        del call, result, fault  # a fault has this frame

    def _has_one_call(self) -> bool:
        return len(self._calls) == 1


class EventLoopThread(Generic[T]):
    """Opens a value with *open_* on an event loop in a thread; in a forked child, on a new one.

    With *reopens* false, a child gets an error. It becomes false when the value was changed in a way that `open_`
    cannot repeat. A value that nobody can reach any more is closed, with a `ResourceWarning`.
    """

    def __init__(self, open_: Callable[[], AbstractAsyncContextManager[T]], *, reopens: bool) -> None:
        self._open = open_
        self.reopens = reopens
        self._closed = False
        self._loop = _Loop(open_())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self.close(cancel=kind is not None)

    def close(self, *, cancel: bool = False) -> None:
        """Close the value; *cancel* the calls that are then still running, or wait for them.

        Raises:
            InvalidInput: code on the loop called this, and would wait for itself.
        """
        try:
            if self._loop.pid == os.getpid():
                self._loop.close(cancel=cancel)  # waits for handlers, which may still call
        finally:
            self._closed = self._loop.is_closing or self._loop.pid != os.getpid()

    def __del__(self) -> None:
        loop: _Loop[T] | None = getattr(self, "_loop", None)  # None if it could not be opened
        if loop is not None and loop.pid == os.getpid() and not loop.is_closing:
            loop.abandon(cancel=False)
            warnings.warn(_NEVER_CLOSED, ResourceWarning, source=self, stacklevel=1)

    def loop(self) -> _Loop[T]:
        """Return the loop of this process.

        Raises:
            Unavailable: the value was closed, or belongs to another process and cannot be opened again.
        """
        if self._closed:
            raise Unavailable(_CLOSED)
        if self._loop.pid != os.getpid():
            with _opening:
                if self._loop.pid != os.getpid():
                    if not self.reopens:
                        raise Unavailable(_OF_ANOTHER_PROCESS)
                    self._loop = _Loop(self._open())
        return self._loop


_loops: WeakSet[_Loop[Any]] = WeakSet()
_inherited: list[_Loop[Any]] = []
_opening = threading.Lock()


def _after_fork() -> None:
    global _opening  # noqa: PLW0603 - another thread of the parent may hold it
    _opening = threading.Lock()
    _inherited.extend(_loops)  # so that the child never frees them
    _loops.clear()


@atexit.register
def _at_exit() -> None:
    for loop in tuple(_loops):  # that the program left open; later no thread runs that could close them
        if not loop.is_closing:
            warnings.warn(_NEVER_CLOSED, ResourceWarning, stacklevel=1)
        loop.close(cancel=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
