"""OpenAI Agents: `SQLAlchemySession` with asyncpg."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy import text as statement
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bench.peers.memories import WRITERS, Page

_AFTER = statement("SELECT id, message_data FROM agent_messages WHERE id > :after ORDER BY id")


class Sessions:
    """One session object for each session, all on one engine."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._sessions: dict[str, Any] = {}

    async def append(self, session: str, text: str) -> None:
        await self._session(session).add_items([{"role": "user", "content": text}])

    async def texts(self, session: str) -> list[str]:
        return [item["content"] for item in await self._session(session).get_items()]

    async def feed(self, after: int) -> Page:
        async with self._engine.connect() as connection:
            rows = await connection.execute(_AFTER, {"after": after})
            return [(place, json.loads(data)["content"]) for place, data in rows]

    def _session(self, session: str) -> Any:
        if session not in self._sessions:
            self._sessions[session] = SQLAlchemySession(session, engine=self._engine, create_tables=True)
        return self._sessions[session]


@asynccontextmanager
async def opened(url: str, app_url: str) -> AsyncIterator[Sessions]:
    """Open the engine; the first session creates the tables."""
    engine = create_async_engine(asyncpg_url(url), pool_size=WRITERS)
    try:
        yield Sessions(engine)
    finally:
        await engine.dispose()


def asyncpg_url(url: str) -> str:
    """Return *url* for SQLAlchemy with asyncpg, which both SQLAlchemy-based stores recommend."""
    return url.replace("postgresql://", "postgresql+asyncpg://", 1)
