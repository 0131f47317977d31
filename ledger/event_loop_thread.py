"""Asynchronous objects used without ``await``: their event loop runs in its own thread.

A thread does not survive a fork. A child process opens its own objects, if plain settings are enough for that, and
gets an error otherwise. It neither uses nor frees the parent's objects, because the connections are the parent's.
"""

import inspect
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, get_args, get_origin
from weakref import WeakSet

import anyio
from anyio.from_thread import BlockingPortal

from ledger.errors import Unavailable

T = TypeVar("T")

Raised = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]

_END: Final = object()
_OF_ANOTHER_PROCESS: Final = (
    "the ledger was opened in another process, before a fork, with a store, summarizer, embedder or handler that "
    "cannot be shared; open it in this process"
)


class _Loop(Generic[T]):
    """An event loop in a thread of this process, and the value that is open on it."""

    def __init__(self, manager: AbstractAsyncContextManager[T]) -> None:
        self.pid = os.getpid()
        started: Future[BlockingPortal] = Future()
        self._thread = threading.Thread(target=_serve, args=(started,), name="memory-ledger", daemon=True)
        self._thread.start()
        self._portal = started.result()
        self._manager = self._portal.wrap_async_context_manager(manager)
        try:
            self.value = self._manager.__enter__()
        except BaseException:
            self._stop(cancel=True)
            raise
        _loops.add(self)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the result of *function*, async or not, called on the loop."""
        if self.pid != os.getpid():
            raise Unavailable(_OF_ANOTHER_PROCESS)
        return self._portal.call(function, *args)

    def iterate(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        """Yield *items*; close them if the caller stops early."""
        try:
            while (item := self.call(anext, items, _END)) is not _END:
                yield item
        finally:
            with suppress(RuntimeError, Unavailable):  # closed already, or in another process
                self.call(items.aclose)

    def close(self, *raised: Any) -> None:
        """Close the value, and end the thread."""
        cancel = True
        try:
            self._manager.__exit__(*raised)
            cancel = raised[0] is not None
        finally:
            self._stop(cancel=cancel)

    def _stop(self, *, cancel: bool) -> None:
        with suppress(RuntimeError):  # it has stopped already
            self._portal.call(self._portal.stop, cancel)
        self._thread.join()


def _serve(started: Future[BlockingPortal]) -> None:
    async def until_stopped() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    try:
        anyio.run(until_stopped)
    except BaseException as fault:
        if started.done():
            raise
        started.set_exception(fault)


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

    def __exit__(self, *raised: Any) -> None:
        try:
            if self._loop.pid == os.getpid():
                self._loop.close(*raised)  # waits for handlers, which may still call
        finally:
            self._closed = True

    def loop(self) -> _Loop[T]:
        """Return the loop of this process.

        Raises:
            Unavailable: the value was closed, or belongs to another process and cannot be opened again.
        """
        if self._closed:
            raise Unavailable("the ledger is closed; open it again")
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

        async def execute() -> Any:
            found = getattr(self._choose(loop.value), name)(*args, **kwargs)
            return await found if inspect.isawaitable(found) else found

        found = loop.call(execute)
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
