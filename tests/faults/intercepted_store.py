"""A store each call of which can be refused or watched."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ledger.ports import Store

PORTS = tuple(Store.__annotations__)


class InterceptedPort:
    """A *port* each call of which goes through *intercept*."""

    def __init__(self, port: Any, intercept: Callable[..., Awaitable[Any]]) -> None:
        self._port = port
        self._intercept = intercept

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return partial(self._intercept, name, getattr(self._port, name))


class InterceptedStore:
    """*store*, each call of which goes through `intercept`."""

    def __init__(self, store: Any) -> None:
        self._store = store
        for port in PORTS:
            setattr(self, port, InterceptedPort(getattr(store, port), self.intercept))

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Carry out a call; subclasses fail or count here."""
        return await method(*args, **options)

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()
