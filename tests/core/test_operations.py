"""Methods that are functions of modules not loaded yet: called, described and bound like any method."""

import inspect
import pydoc
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict, Unpack

import pytest

from ledger.application.facade.operations import lazy_package, operation, with_arguments_of


class Handle:
    """What the functions get."""

    name = "handle"


class How(TypedDict, total=False):
    """Whose, and as of when."""

    version: int | None
    user_id: str


async def add(handle: Handle, session_id: str, *, count: int = 1) -> str:
    """Add *count* to a session.

    Raises:
        ValueError: the count is not positive.
    """
    if count < 1:
        raise ValueError(count)
    return f"{handle.name} {session_id} {count}"


async def lines(handle: Handle) -> AsyncIterator[str]:
    """Yield lines."""
    yield handle.name


entries = lazy_package("operations_of_a_test")


class Facade:
    """A facade."""

    def __init__(self) -> None:
        self._handle = Handle()

    add = operation(lambda: entries.add)
    lines = operation(lambda: entries.lines)


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module the operations are in."""
    created: Any = ModuleType("operations_of_a_test")
    created.add, created.lines = add, lines
    monkeypatch.setitem(sys.modules, created.__name__, created)
    monkeypatch.setattr(sys.modules[__name__], "entries", lazy_package(created.__name__))
    return created  # type: ignore[no-any-return]


async def test_an_operation_is_called_with_the_handle() -> None:
    facade = Facade()
    assert await facade.add("s", count=2) == "handle s 2"
    assert await Facade.add(facade, "s") == "handle s 1"
    assert [line async for line in facade.lines()] == ["handle"]
    with pytest.raises(ValueError, match="0"):
        await facade.add("s", count=0)


def test_a_bound_operation_is_the_function_itself_and_async() -> None:
    """Frameworks ask whether a callable is async before they call it."""
    assert inspect.iscoroutinefunction(Facade().add)
    assert inspect.isasyncgenfunction(Facade().lines)
    assert str(inspect.signature(Facade().add)) == "(session_id: str, *, count: int = 1) -> str"


def test_help_shows_the_signature_without_the_handle_and_the_docstring() -> None:
    assert str(inspect.signature(Facade.add)) == "(self, session_id: str, *, count: int = 1) -> str"
    for asked in (Facade.add, Facade().add, Facade):
        shown = pydoc.plain(pydoc.render_doc(asked))
        assert "session_id: str, *, count: int = 1) -> str" in shown
        assert "ValueError: the count is not positive." in shown
    assert inspect.unwrap(Facade.add) is add
    assert (Facade.add.__name__, Facade.add.__qualname__, Facade.add.__module__) == ("add", "Facade.add", __name__)


def test_help_says_which_keyword_arguments_there_are(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(handle: Handle, **how: Unpack[How]) -> None:
        """Find it."""

    monkeypatch.setattr(module, "add", find)
    assert str(Facade.add.__doc__).splitlines() == [
        "Find it.",
        "",
        "Keyword arguments (``**how``): version: int | None, user_id: str.",
        "",
        "Whose, and as of when.",
    ]


def test_dir_lists_operations() -> None:
    assert {"add", "lines"} <= {*dir(Facade)} & {*dir(Facade())}


def test_what_replaces_the_function_is_used(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    facade = Facade()
    assert inspect.iscoroutinefunction(facade.add)
    monkeypatch.setattr(module, "add", lambda handle, session_id: session_id)
    assert facade.add("s") == "s"  # type: ignore[comparison-overlap]


@pytest.fixture
def unloaded(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that nobody has imported."""
    (tmp_path / "unloaded_module.py").write_text("def double(handle, number):\n    return 2 * number\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "unloaded_module"
    sys.modules.pop("unloaded_module", None)


def test_nothing_loads_before_an_operation_is_used(unloaded: str) -> None:
    module = lazy_package(unloaded)

    class Doubling:
        _handle = Handle()
        double = operation(lambda: module.double)

    doubling, unbound = Doubling(), Doubling.double
    assert dir(doubling)
    assert unloaded not in sys.modules
    assert doubling.double(4) == unbound(doubling, 4) == 8
    assert unloaded in sys.modules


def test_a_module_inside_a_package_is_loaded_at_its_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "unloaded_package" / "inner"
    inner.mkdir(parents=True)
    (inner / "deepest.py").write_text("LEAF = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    package = lazy_package("unloaded_package")
    module = package.inner.deepest
    assert "unloaded_package.inner.deepest" not in sys.modules
    assert module.LEAF == 1
    assert "unloaded_package.inner.deepest" in sys.modules
    assert package.inner.deepest is module
    with pytest.raises(AttributeError, match="NO_LEAF"):
        module.NO_LEAF  # noqa: B018 - what reads it
    with pytest.raises(ModuleNotFoundError, match=r"inner\.absent"):
        package.inner.absent.LEAF  # noqa: B018 - what loads it


class Openable:
    """Has a class method, and another one with its arguments."""

    @classmethod
    def open(cls, url: str, *, size: int = 3) -> list[str]:
        """Open it."""
        return [f"{url} {size}"]

    @classmethod
    @with_arguments_of(open)
    async def connect(cls, *args: Any, **kwargs: Any) -> str:
        """Open it at once."""
        return cls.open(*args, **kwargs)[0]


async def test_a_class_method_has_the_arguments_of_another_and_its_own_result_and_docstring() -> None:
    assert str(inspect.signature(Openable.connect)) == "(url: str, *, size: int = 3) -> str"
    assert str(inspect.signature(Openable.open)) == "(url: str, *, size: int = 3) -> list[str]"
    assert inspect.getdoc(Openable.connect) == "Open it at once."
    assert inspect.iscoroutinefunction(Openable.connect)
    assert await Openable.connect("here", size=4) == "here 4"
    with pytest.raises(TypeError, match="width"):
        await Openable.connect("here", width=4)  # type: ignore[call-arg]


def test_a_module_that_is_not_there_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        lazy_package("no_such_module").anything  # noqa: B018 - what loads it
