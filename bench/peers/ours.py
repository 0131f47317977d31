"""Memory Ledger and, as the yardstick, plain psycopg."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from bench.peers.memories import WRITERS, Page
from bench.setting import FULL
from ledger.memory import MemoryLedger

_CREATE = "CREATE TABLE messages (id bigserial PRIMARY KEY, session_id uuid NOT NULL, message text NOT NULL)"
_INDEX = "CREATE INDEX ON messages (session_id, id)"
_INSERT = "INSERT INTO messages (session_id, message) VALUES (%s, %s)"
_OF_SESSION = "SELECT id, message FROM messages WHERE session_id = %s ORDER BY id"
_AFTER = "SELECT id, message FROM messages WHERE id > %s ORDER BY id"
_PAGE = 1_000


class Ledger:
    """The async library."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger

    async def append(self, session: str, text: str) -> None:
        await self._ledger.add_user_message(session, text)

    async def texts(self, session: str) -> list[str]:
        return [entry.content for entry in await self._ledger.get_active_entries(session)]

    async def feed(self, after: int) -> Page:
        page = await self._ledger.get_feed(after=after, limit=_PAGE)
        return [(event.position, event.payload.get("content", "")) for event in page]


class Plain:
    """One table and one INSERT, on the connection that was used last."""

    def __init__(self, connections: "asyncio.LifoQueue[psycopg.AsyncConnection[Any]]") -> None:
        self._connections = connections

    async def append(self, session: str, text: str) -> None:
        await self._execute(_INSERT, (session, text))

    async def texts(self, session: str) -> list[str]:
        return [text for _, text in await self._execute(_OF_SESSION, (session,))]

    async def feed(self, after: int) -> Page:
        return await self._execute(_AFTER, (after,))

    async def _execute(self, query: str, values: tuple[object, ...]) -> list[tuple[int, str]]:
        connection = await self._connections.get()
        try:
            cursor = await connection.execute(query, values, prepare=True)
            return list(await cursor.fetchall()) if cursor.description else []
        finally:
            self._connections.put_nowait(connection)


@asynccontextmanager
async def ledger(url: str, app_url: str) -> AsyncIterator[Ledger]:
    """Open the library with its defaults, but for compaction and the counting of tokens, which no other store does."""
    async with MemoryLedger.open(app_url, "peers", config=FULL) as opened:
        yield Ledger(opened)


@asynccontextmanager
async def plain(url: str, app_url: str) -> AsyncIterator[Plain]:
    """Create the table and open the connections."""
    connections: asyncio.LifoQueue[psycopg.AsyncConnection[Any]] = asyncio.LifoQueue()
    async with AsyncExitStack() as opened:
        for _ in range(WRITERS):
            connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
            connections.put_nowait(await opened.enter_async_context(connection))
        await connection.execute(_CREATE)
        await connection.execute(_INDEX)
        yield Plain(connections)


@asynccontextmanager
async def connection_pool(url: str, **how: object) -> AsyncIterator[AsyncConnectionPool]:
    """Open the pool of psycopg in autocommit mode, with one connection for each writer."""
    settings = {"autocommit": True, **how}
    async with AsyncConnectionPool(url, min_size=WRITERS, max_size=WRITERS, kwargs=settings, open=False) as pool:
        await pool.wait()
        yield pool
