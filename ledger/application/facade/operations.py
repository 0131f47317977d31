"""Methods of a facade that are plain functions of modules; a module is loaded when it is first used.

    class MemoryLedger:
        add_entries = operation(lambda: ledger.application.writing.entry_writes.add_entries)

`add_entries` is a function whose first parameter is the handle that the facade has as ``_handle``; the facade's
method is this function, bound to the handle. This module and the facades must stay quick to import: even `typing`
doubles the start time of Python.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType, MethodType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any, Concatenate, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")


def operation(load: Callable[[], Callable[Concatenate[Any, P], R]]) -> Callable[Concatenate[Any, P], R]:
    """Return a method that calls the function that *load* returns, with the facade's handle as first argument."""
    return Operation(load)


def with_arguments_of(
    source: Callable[Concatenate[Any, P], Any] | classmethod[Any, P, Any],
) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Return a decorator that gives a class method the arguments of the class method *source*, and keeps its result."""
    function = source.__func__ if isinstance(source, classmethod) else source

    def decorate(method: Any) -> Any:
        shown: Any = FunctionType(function.__code__, function.__globals__, method.__name__, function.__defaults__)
        shown.__kwdefaults__, shown.__doc__ = function.__kwdefaults__, method.__doc__
        shown.__annotations__ = function.__annotations__ | {"return": method.__annotations__["return"]}
        method.__wrapped__ = shown  # what `inspect` and `help` show the signature of
        return method

    return decorate


class LazyModule:
    """A module that is imported when an attribute of it is first read; attributes of a package are its modules."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None
        self._is_package = False

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            module = import_module(self._name)
            self._is_package = hasattr(module, "__path__")  # first, since another thread looks at the module
            self._module = module
        if not self._is_package:
            return getattr(self._module, attribute)
        inside = LazyModule(f"{self._name}.{attribute}")
        setattr(self, attribute, inside)
        return inside


def lazy_package(name: str) -> Any:
    """Return a package whose modules, at every depth, are imported when first used.

    Type checkers need an import of each of them in a block for ``TYPE_CHECKING``, whose ``else`` calls this.
    """
    return LazyModule(name)


class Operation:  # noqa: D101 - its `__doc__` is the function's
    def __init__(self, load: Callable[[], Callable[..., Any]]) -> None:
        self._load = load

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name
        self.__qualname__ = f"{owner.__qualname__}.{name}"
        self.__module__ = owner.__module__

    def __get__(self, facade: Any, owner: type | None = None) -> Any:
        return self if facade is None else MethodType(self._load(), facade._handle)  # noqa: SLF001 - part of the facade

    def __call__(self, facade: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - documented by the function
        return self.__get__(facade)(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._load()

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # per instance; `help` shows it
        return with_options(self._load())

    @property
    def __signature__(self) -> Signature:
        from inspect import signature  # noqa: PLC0415 - slow, and only `help` and similar tools need it

        found = signature(self._load())
        handle, *others = found.parameters.values()
        return found.replace(parameters=[handle.replace(name="self", annotation=handle.empty), *others])


def with_options(function: Callable[..., Any]) -> str | None:
    """Return the docstring of *function*, and what it takes as ``**options`` of a `TypedDict`: `help` hides those."""
    from inspect import cleandoc, formatannotation  # noqa: PLC0415 - slow, and only `help` and similar tools need it
    from typing import Unpack, get_origin  # noqa: PLC0415 - not needed but for help()

    unpack: Any = Unpack
    text = function.__doc__
    for name, annotation in function.__annotations__.items():
        if text and get_origin(annotation) is unpack:
            (options,) = annotation.__args__
            taken = ", ".join(f"{each}: {formatannotation(kind)}" for each, kind in options.__annotations__.items())
            text = f"{cleandoc(text)}\n\nKeyword arguments (``**{name}``): {taken}.\n\n{cleandoc(options.__doc__)}"
    return text
