"""Asynchronous objects used without ``await``: their event loop runs in its own thread.

A thread does not survive a fork. A child process opens its own objects, if plain settings are enough for that, and
gets an error otherwise. It neither uses nor frees the parent's objects, because the connections are the parent's.
"""

import asyncio
import atexit
import inspect
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, get_args, get_origin
from weakref import WeakSet

from ledger.errors import InvalidInput, Unavailable

T = TypeVar("T")

_END: Final = object()
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


class _Loop(Generic[T]):
    """An event loop in a thread of this process, and the value that is open on it."""

    def __init__(self, manager: AbstractAsyncContextManager[T]) -> None:
        self.pid = os.getpid()
        self._calls: dict[Future[Any], asyncio.Task[None] | None] = {}  # those that a thread waits for
        self._opened: Future[T] = Future()
        self._fault: BaseException | None = None
        self._cancels = self._closing = False
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
        outcome: Future[Any] = Future()
        self._calls[outcome] = None
        try:
            self._loop.call_soon_threadsafe(self._start, outcome, function, args)
        except RuntimeError:  # the loop has ended
            raise Unavailable(_CLOSED) from None
        try:
            return outcome.result()
        finally:
            del outcome  # its exception has this frame

    def iterate(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        """Yield *items*; close them if the caller stops early."""
        try:
            while (item := self.call(anext, items, _END)) is not _END:
                yield item
        finally:
            with suppress(InvalidInput, Unavailable):  # on the loop, closed already, or in another process
                self.call(items.aclose)

    def close(self, *, cancel: bool) -> None:
        """Close the value, and end the thread; *cancel* the calls that are then still running, or wait for them."""
        if not self._closing:
            self._closing, self._cancels = True, cancel
            with suppress(RuntimeError):  # it could not be opened
                self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

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
            for outcome in tuple(self._calls):  # those that came too late to start
                outcome.set_exception(Unavailable(_CLOSED))

    async def _live(self, manager: AbstractAsyncContextManager[T]) -> None:
        async with manager as value:
            self._opened.set_result(value)
            try:
                await self._loop.create_future()
            except asyncio.CancelledError:  # by `close`
                self._main.uncancel()
        running = [task for task in self._calls.values() if task is not None]
        if running and not self._cancels:
            await asyncio.wait(running)

    def _start(self, outcome: Future[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._calls[outcome] = self._loop.create_task(self._execute(outcome, function, args))

    async def _execute(self, outcome: Future[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            found = function(*args)
            outcome.set_result(await found if inspect.isawaitable(found) else found)
        except asyncio.CancelledError:
            outcome.set_exception(Unavailable(_CLOSED_MEANWHILE))
        except BaseException as fault:  # noqa: BLE001 - the caller gets it
            outcome.set_exception(fault)
        finally:
            del self._calls[outcome], outcome


class EventLoopThread(Generic[T]):
    """Opens a value with *open_* on an event loop in a thread; in a forked child, on a new one.

    With *reopens* false, a child gets an error. It becomes false when the value was changed in a way that `open_`
    cannot repeat.
    """

    def __init__(self, open_: Callable[[], AbstractAsyncContextManager[T]], *, reopens: bool) -> None:
        self._open = open_
        self.reopens = reopens
        self._closed = False

    def __enter__(self) -> Self:
        self._loop = _Loop(self._open())
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        try:
            if self._loop.pid == os.getpid():
                self._loop.close(cancel=kind is not None)  # waits for handlers, which may still call
        finally:
            self._closed = True

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


class Blocking:
    """Base of a class that has each public method of another class, and waits for its result.

    It may be used from several threads, and inside another event loop.
    """

    #: Methods that change the value in a way that `open_` cannot repeat.
    _personal: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, *, of: type | None = None, without: frozenset[str] = frozenset()) -> None:
        for base in reversed(of.__mro__) if of is not None else ():
            for name in vars(base):
                if not name.startswith("_") and name not in without and name not in vars(cls):
                    setattr(cls, name, _blocking(cls, name, getattr(of, name)))

    def __init__(self, thread: EventLoopThread[Any], choose: Callable[[Any], Any] = lambda opened: opened) -> None:
        self._thread = thread
        self._choose = choose

    def _call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        loop = self._thread.loop()
        if name in self._personal:
            self._thread.reopens = False
        found = loop.call(lambda: getattr(self._choose(loop.value), name)(*args, **kwargs))
        return loop.iterate(found) if isinstance(found, AsyncGenerator) else found


def _blocking(cls: type, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Blocking, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, *args, **kwargs)

    call.__module__, call.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
    return described(method)(call)


def described(method: Callable[..., Any]) -> Callable[[T], T]:
    """Return a decorator that gives a function the name, docstring and signature of the asynchronous *method*."""

    def decorate(function: T) -> T:
        signature = inspect.signature(method)
        if inspect.ismethod(method):  # a class method, whose first parameter is bound already
            of_class = inspect.Parameter("cls", inspect.Parameter.POSITIONAL_OR_KEYWORD)
            signature = signature.replace(parameters=[of_class, *signature.parameters.values()])
        returned = signature.return_annotation
        if isinstance(returned, str):
            returned = returned.replace("AsyncIterator", "Iterator").replace(
                "AbstractAsyncContextManager[", "AbstractContextManager[Sync"
            )
        elif get_origin(returned) is AsyncIterator:
            returned = Iterator[get_args(returned)]  # type: ignore[misc]  # only shown
        described_function: Any = function
        described_function.__name__ = method.__name__
        described_function.__doc__ = method.__doc__
        described_function.__signature__ = signature.replace(return_annotation=returned)
        return function

    return decorate


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
        loop.close(cancel=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
