"""Stores whose n-th call fails, or that wait. Source: trust §10, F-10."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ledger.errors import DatabaseUnavailable
from tests.faults.intercepted_store import InterceptedStore


class FailsNthCall(InterceptedStore):
    """The *store*, whose call number *n* is not executed, or with *after* is executed and loses its answer."""

    def __init__(self, store: Any, n: int, *, after: bool) -> None:
        super().__init__(store)
        self._n = n
        self._after = after
        self._calls = 0

    @property
    def failed(self) -> bool:
        """Whether the failing call has come."""
        return self._calls >= self._n

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Fail the n-th call."""
        self._calls += 1
        fails = self._calls == self._n
        if fails and not self._after:
            raise DatabaseUnavailable(f"{name}, call {self._n}, is refused")
        answer = await method(*args, **options)
        if fails:
            raise DatabaseUnavailable(f"the answer to {name}, call {self._n}, is lost")
        return answer


class WaitsToAppend(InterceptedStore):
    """The *store*, which stores when it is told that it *goes_on*; an append has *begun* before."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Wait before an append."""
        if "append" in name:
            self.begun.set()
            await self.goes_on.wait()
        return await method(*args, **options)
