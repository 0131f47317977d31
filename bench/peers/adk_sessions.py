"""Google ADK: `DatabaseSessionService` with asyncpg."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai.types import Content, Part

from bench.peers.memories import WRITERS, Page
from bench.peers.openai_session import asyncpg_url

_WHOSE = {"app_name": "bench", "user_id": "user"}


class Sessions:
    """Each writer, a task, has a session object of its own, and loads it again if another changed the session."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self._sessions: dict[tuple[str, int], Any] = {}

    async def append(self, session: str, text: str) -> None:
        event = Event(author="user", content=Content(role="user", parts=[Part(text=text)]))
        key = session, id(asyncio.current_task())
        while True:
            if key not in self._sessions:
                self._sessions[key] = await self._opened(session)
            try:
                await self._service.append_event(self._sessions[key], event)
            except StaleSessionError:
                del self._sessions[key]
            else:
                return

    async def texts(self, session: str) -> list[str]:
        found = await self._service.get_session(**_WHOSE, session_id=session)
        return [event.content.parts[0].text for event in found.events]

    async def feed(self, after: int) -> Page | None:
        return None

    async def _opened(self, session: str) -> Any:
        try:
            return await self._service.create_session(**_WHOSE, session_id=session)
        except AlreadyExistsError:
            newest = GetSessionConfig(num_recent_events=1)
            return await self._service.get_session(**_WHOSE, session_id=session, config=newest)


@asynccontextmanager
async def opened(url: str, app_url: str) -> AsyncIterator[Sessions]:
    """Open the service; its first use creates the tables."""
    service = DatabaseSessionService(db_url=asyncpg_url(url), pool_size=WRITERS)
    try:
        yield Sessions(service)
    finally:
        await service.close()
