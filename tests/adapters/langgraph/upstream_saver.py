"""A plugin of pytest that puts our saver under the names of the SDK's on PostgreSQL. Source: adapters AD-15, LG-14.

The SDK's tests of deltas and of pruning look at rows and between statements; here they look at the same facts in ours.
"""

import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from ledger.adapters.langgraph import LedgerSaver
from ledger.memory import MemoryLedger


class Opened(LedgerSaver):
    """Ours, with what the SDK's has besides: it makes its tables."""

    url: str

    def setup(self) -> Any:
        """Return what may be awaited, or not."""
        return _nothing()


class PostgresSaver(Opened):
    """Ours under the name of the SDK's that is not asynchronous."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Iterator["PostgresSaver"]:
        """Open it on a ledger of its own."""
        with cls.open(Opened.url, f"upstream-{secrets.token_hex(8)}") as saver:
            saver.setup = lambda: None  # type: ignore[method-assign]
            yield saver


class AsyncPostgresSaver(Opened):
    """Ours under the name of the SDK's that is asynchronous."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str) -> AsyncIterator["AsyncPostgresSaver"]:
        """Open it on a ledger of its own."""
        async with cls.open(Opened.url, f"upstream-{secrets.token_hex(8)}") as saver:
            yield saver


async def _nothing() -> None:
    pass


@asynccontextmanager
async def saver_named(name: str) -> AsyncIterator[LedgerSaver]:
    """Open the saver that a test asks for; all kinds of connections are one to us."""
    if name.startswith("aio_"):
        async with AsyncPostgresSaver.from_conn_string("") as saver:
            yield saver
    else:
        with PostgresSaver.from_conn_string("") as other:
            yield other


@asynccontextmanager
async def second_saver(saver: LedgerSaver) -> AsyncIterator[LedgerSaver]:
    """Open another saver on the ledger of *saver*."""
    async with AsyncPostgresSaver(saver._opened.again()) as other:
        yield other


async def rows_of(saver: LedgerSaver, thread_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a thread has: its checkpoints, what was written after each, and the versions of their values."""
    found = [each async for each in saver.alist({"configurable": {"thread_id": thread_id}})]
    names = [(each.config["configurable"]["checkpoint_ns"], each.checkpoint["id"]) for each in found]
    writes = [(*name, write[0], at) for name, each in zip(names, found, strict=True) for at, write in _numbered(each)]
    values = {
        (name[0], channel, each.checkpoint["channel_versions"][channel])
        for name, each in zip(names, found, strict=True)
        for channel in each.checkpoint["channel_values"]
    }
    return {"checkpoints": sorted(names), "writes": sorted(writes), "blobs": sorted(values)}


def _numbered(found: Any) -> list[tuple[int, Any]]:
    return list(enumerate(found.pending_writes))


def run_once_between(saver: LedgerSaver, sql: str, action: Callable[[], Awaitable[Any]], *, nth: int = 1) -> None:
    """Do *action* once, after *saver* has read what it prunes and before it writes."""
    keep = MemoryLedger.keep
    waiting = [action]

    async def kept(ledger: MemoryLedger, *args: Any, **options: Any) -> Any:
        if waiting:
            await waiting.pop()()
        return await keep(ledger, *args, **options)

    patched.setattr(MemoryLedger, "keep", kept)


patched = pytest.MonkeyPatch()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the URL of the database."""
    parser.addoption("--ledger-url")


def pytest_configure(config: pytest.Config) -> None:
    """Put ours under the names of the SDK's; what of the SDK needs no connection stays its own."""
    Opened.url = config.getoption("--ledger-url")
    package = _module("langgraph.checkpoint.postgres", PostgresSaver=PostgresSaver, _DELTA_PAGE_SIZE=1)
    package.__path__ = [str(config.rootpath / "langgraph/checkpoint/postgres")]
    _module("langgraph.checkpoint.postgres.aio", AsyncPostgresSaver=AsyncPostgresSaver, _DELTA_PAGE_SIZE=1)
    for name in ("tests.test_async", "tests.test_sync"):
        _module(name, _saver=saver_named)


def _module(name: str, **contents: Any) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)
    package, _, own = name.rpartition(".")
    setattr(import_module(package), own, module)
    return module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put ours in the place of what looks at rows and statements."""
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        if hasattr(module, "_rows"):
            module._saver, module._second_saver = saver_named, second_saver
            module._rows, module._run_once_after = rows_of, run_once_between


def pytest_runtest_teardown() -> None:
    """Undo what a test put between statements."""
    patched.undo()
