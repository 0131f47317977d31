"""Connections that nobody uses are closed: for whoever waits in this process, and after a while for other processes."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
from sqlalchemy import exc

from ledger.errors import LedgerError


class UnusedConnections:
    """Closes connections that were not used for *after_s* seconds, while *are_few* says that others may need them."""

    def __init__(self, *, after_s: float, are_few: Callable[[], bool], are_there: Callable[[], bool]) -> None:
        self._after_s = after_s
        self._are_few = are_few
        self._are_there = are_there
        self._closing: asyncio.Task[None] | None = None
        #: Each closes a connection that it holds and that nobody has used since a time of the loop's clock, and returns
        #: whether there was one.
        self.holders: list[Callable[[float], Awaitable[bool]]] = []

    async def close_one(self, since: float = math.inf) -> bool:
        """Close one that nobody has used since then, and return whether there was one."""
        for close in self.holders:
            if await close(since):
                return True
        return False

    def notice(self) -> None:
        """Begin to watch; there is one that is not used any more."""
        if self._are_few() and (self._closing is None or self._closing.done()):
            self._closing = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Watch no longer."""
        if self._closing is not None:
            self._closing.cancel()
            await asyncio.gather(self._closing, return_exceptions=True)

    async def _watch(self) -> None:
        while self._are_there():
            await asyncio.sleep(self._after_s / 2)
            with suppress(exc.SQLAlchemyError, psycopg.Error, TimeoutError, LedgerError):  # it broke: nobody has it
                while await self.close_one(asyncio.get_running_loop().time() - self._after_s):
                    pass
