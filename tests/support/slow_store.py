"""A store whose calls take turns in a random order, as those to a server do."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from tests.faults.intercepted_store import InterceptedStore


class SlowStore(InterceptedStore):
    """Lets other tasks come first, before each call and after it, as often as *random* says."""

    def __init__(self, store: Any, random: Random) -> None:
        super().__init__(store)
        self._random = random

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Carry out a call between others."""
        await self._wait()
        found = await method(*args, **options)
        await self._wait()
        return found

    async def _wait(self) -> None:
        for _ in range(self._random.randrange(5)):
            await asyncio.sleep(0)
