"""The methods of a ledger, to be awaited on any event loop."""

from collections.abc import Callable, Coroutine
from inspect import isasyncgen, isawaitable
from typing import Any

from ledger.adapters.opened_ledger import OpenedLedger
from ledger.long_term_memory import LongTermMemory
from ledger.memory import MemoryLedger


class _AnyLoop:
    """The methods of a part of the ledger, which *part_of* returns and *kind* is the class of."""

    def __init__(self, opened: OpenedLedger, kind: type, part_of: Callable[[MemoryLedger], Any]) -> None:
        self._opened = opened
        self._kind = kind
        self._part_of = part_of

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_") or not callable(getattr(self._kind, name, None)):
            raise AttributeError(f"{self._kind.__name__} has no method {name}")

        async def call(*args: Any, **kwargs: Any) -> Any:
            async def work(ledger: MemoryLedger) -> Any:
                found = getattr(self._part_of(ledger), name)(*args, **kwargs)
                if isasyncgen(found):
                    return [each async for each in found]
                return await found if isawaitable(found) else found

            return await self._opened.run(work)

        return call


class AnyLoopLedger(_AnyLoop):
    """Each method is that of `MemoryLedger` with the same name, and runs on the event loop of the ledger.

    All of them are awaited, also `on`, whose handler runs on that event loop; what is iterated there is a list here.
    """

    def __init__(self, opened: OpenedLedger) -> None:
        super().__init__(opened, MemoryLedger, lambda ledger: ledger)

    @property
    def long_term(self) -> _AnyLoop:
        """The methods of the long-term memory."""
        return _AnyLoop(self._opened, LongTermMemory, lambda ledger: ledger.long_term)
