"""Memory Ledger and, as the yardstick, plain psycopg."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg_pool import AsyncConnectionPool

from bench.peers.memories import WRITERS, Page
from bench.setting import FULL
from ledger.memory import MemoryLedger

_CREATE = "CREATE TABLE messages (id bigserial PRIMARY KEY, session_id uuid NOT NULL, message text NOT NULL)"
_INDEX = "CREATE INDEX ON messages (session_id, id)"
_INSERT = "INSERT INTO messages (session_id, message) VALUES (%s, %s)"
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
    """One table and one INSERT."""

    def __init__(self, pool: "AsyncConnectionPool[psycopg.AsyncConnection[tuple[object, ...]]]") -> None:
        self._pool = pool

    async def append(self, session: str, text: str) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(_INSERT, (session, text), prepare=True)

    async def texts(self, session: str) -> list[str]:
        return [text for _, text in await self._rows("SELECT id, message FROM messages WHERE session_id = %s", session)]

    async def feed(self, after: int) -> Page:
        return await self._rows("SELECT id, message FROM messages WHERE id > %s ORDER BY id", after)

    async def _rows(self, query: str, value: object) -> list[tuple[int, str]]:
        async with self._pool.connection() as connection:
            return list(await (await connection.execute(query, (value,))).fetchall())


@asynccontextmanager
async def ledger(url: str, app_url: str) -> AsyncIterator[Ledger]:
    """Open the library with its defaults, but for compaction and the counting of tokens, which no other store does."""
    async with MemoryLedger.open(app_url, "peers", config=FULL) as opened:
        yield Ledger(opened)


@asynccontextmanager
async def plain(url: str, app_url: str) -> AsyncIterator[Plain]:
    """Create the table and open the connections."""
    async with connection_pool(url) as pool:
        async with pool.connection() as connection:
            await connection.execute(_CREATE)
            await connection.execute(_INDEX)
        yield Plain(pool)


@asynccontextmanager
async def connection_pool(url: str, **how: object) -> AsyncIterator[AsyncConnectionPool]:
    """Open a pool in autocommit mode, of one connection for each writer."""
    settings = {"autocommit": True, **how}
    async with AsyncConnectionPool(url, min_size=WRITERS, max_size=WRITERS, kwargs=settings, open=False) as pool:
        await pool.wait()
        yield pool
