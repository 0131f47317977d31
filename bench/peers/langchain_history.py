"""LangChain: `PostgresChatMessageHistory`, with one connection for each writer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_postgres import PostgresChatMessageHistory

from bench.peers.memories import Page
from bench.peers.ours import connection_pool

_TABLE = "chat_history"
_AFTER = "SELECT id, message->'data'->>'content' FROM chat_history WHERE id > %s ORDER BY id"


class Histories:
    """A history object for each call, as its documentation recommends: it is cheap."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def append(self, session: str, text: str) -> None:
        async with self._pool.connection() as connection:
            await _history(session, connection).aadd_messages([HumanMessage(text)])

    async def texts(self, session: str) -> list[str]:
        async with self._pool.connection() as connection:
            return [str(message.content) for message in await _history(session, connection).aget_messages()]

    async def feed(self, after: int) -> Page:
        async with self._pool.connection() as connection:
            return list(await (await connection.execute(_AFTER, (after,))).fetchall())


@asynccontextmanager
async def opened(url: str, app_url: str) -> AsyncIterator[Histories]:
    """Create the table and open the connections."""
    async with connection_pool(url, autocommit=False) as pool:
        async with pool.connection() as connection:
            await PostgresChatMessageHistory.acreate_tables(connection, _TABLE)
        yield Histories(pool)


def _history(session: str, connection: Any) -> Any:
    return PostgresChatMessageHistory(_TABLE, session, async_connection=connection)
