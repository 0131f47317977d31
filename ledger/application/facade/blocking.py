"""The methods of an asynchronous class, without ``await``."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar, Final, TypeVar, get_args, get_origin

from ledger.application.facade.event_loop_thread import EventLoopThread
from ledger.errors import InvalidInput, Unavailable

T = TypeVar("T")

_END: Final = object()


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
        return self._iterate(loop.call, found) if isinstance(found, AsyncGenerator) else found

    def _iterate(self, call: Callable[..., Any], items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        """Yield *items*; close them if the caller stops early."""
        try:
            while (item := call(anext, items, _END)) is not _END:
                yield item
        finally:
            with suppress(InvalidInput, Unavailable):  # on the loop, closed already, or in another process
                call(items.aclose)


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
            for ours, theirs in (("Async", ""), ("MemoryLedger", "SyncMemoryLedger")):
                returned = returned.replace(ours, theirs)
        elif get_origin(returned) is AsyncIterator:
            returned = Iterator[get_args(returned)]  # type: ignore[misc]  # only shown
        described_function: Any = function
        described_function.__name__ = method.__name__
        described_function.__doc__ = method.__doc__
        described_function.__signature__ = signature.replace(return_annotation=returned)
        return function

    return decorate
