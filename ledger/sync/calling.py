"""Calls into the event loop."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal

from ledger.memory import MemoryLedger

P = ParamSpec("P")
R = TypeVar("R")


class Calling:
    """What all parts of `SyncMemoryLedger` share: the ledger, and the way to its loop."""

    def __init__(self, portal: BlockingPortal, ledger: MemoryLedger) -> None:
        self._portal = portal
        self._ledger = ledger

    def _call(self, method: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.call(partial(method, *args, **kwargs))
