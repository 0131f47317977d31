"""The methods of a ledger, to be awaited on any event loop."""

from collections.abc import Callable, Coroutine
from typing import Any

from ledger.adapters.opening import OpenedLedger
from ledger.memory import MemoryLedger


class AnyLoopLedger:
    """Each method is that of `MemoryLedger` with the same name, and runs on the event loop of the ledger."""

    def __init__(self, opened: OpenedLedger) -> None:
        self._opened = opened

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_") or not hasattr(MemoryLedger, name):
            raise AttributeError(f"MemoryLedger has no method {name}")

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._opened.run(lambda ledger: getattr(ledger, name)(*args, **kwargs))

        return call
