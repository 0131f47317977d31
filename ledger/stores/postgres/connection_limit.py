"""How many connections a process has at a time: as many as it may, or as the server gives it."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final

import psycopg
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ledger.stores.postgres.connecting import is_full
from ledger.stores.postgres.deadlines import NoConnection
from ledger.stores.postgres.unused_connections import UnusedConnections

_AGAIN_S: Final = 0.05  # a connection that was closed is still counted by the server for a moment
_MORE_AFTER_S: Final = 5.0  # until one more is tried, after the server refused one


class ConnectionLimit:
    """Opens connections of an engine; when the server gives no more, callers wait for those that are open."""

    def __init__(self, most: int, *, wait_s: float, unused: UnusedConnections) -> None:
        self._most = self._now = most
        self._wait_s = wait_s
        self._unused = unused
        self._used = 0
        self._more_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        #: Whether the pool is closed: what is still in use is closed after its use.
        self.ended = False

    @property
    def has_room(self) -> bool:
        """Whether a connection can be opened without a wait."""
        return self._used < self._limit()

    @property
    def keeps_none(self) -> bool:
        """Whether no connection may stay idle: somebody waits for it, or nobody will use it."""
        return self.ended or bool(self._waiting)

    async def connect(self, engine: AsyncEngine) -> AsyncConnection:
        """Return a connection of *engine*, to be ended by `close`.

        Raises:
            TimeoutError: all that there may be were in use for too long.
            NoConnection: the server did not answer in time.
            exc.DBAPIError: the server could not be reached, or had none left in all that time.
        """
        refused: exc.DBAPIError | None = None
        asking = False
        try:
            async with asyncio.timeout(self._wait_s):
                while True:
                    await self._enter()
                    asking = True
                    try:
                        return await engine.connect()
                    except BaseException as fault:
                        self._leave()
                        if not isinstance(fault, exc.DBAPIError) or not is_full(fault.orig):
                            raise
                        if refused is not None:
                            self._now = max(1, self._used)
                            self._more_at = asyncio.get_running_loop().time() + _MORE_AFTER_S
                        refused, asking = fault, False
                    await asyncio.sleep(_AGAIN_S)
        except TimeoutError:
            if refused is not None:
                raise refused from None
            if asking:
                raise NoConnection(f"the database does not answer: no connection within {self._wait_s:g} s") from None
            raise

    async def close(self, connection: AsyncConnection, *, to_server: bool = False) -> None:
        """Return *connection* to its pool, or close it *to_server*, as after the end of the pool."""
        try:
            with suppress(exc.SQLAlchemyError, psycopg.Error):
                if to_server or self.ended:
                    await connection.invalidate()
            with suppress(exc.SQLAlchemyError, psycopg.Error):
                await connection.close()
        finally:
            self._leave()

    async def _enter(self) -> None:
        while not self.has_room:
            if await self._unused.close_one():
                continue
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()
                raise
            finally:
                with suppress(ValueError):
                    self._waiting.remove(turn)
        self._used += 1

    def _leave(self) -> None:
        self._used -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _limit(self) -> int:
        if self._now < self._most and asyncio.get_running_loop().time() > self._more_at:
            self._now += 1
            self._more_at = asyncio.get_running_loop().time() + _MORE_AFTER_S
        return self._now
