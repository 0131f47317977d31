"""eventsourcing: an application with one aggregate for each session; aggregates stay in its cache."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from eventsourcing.application import AggregateNotFoundError, Application, LocalNotificationLog
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import IntegrityError

from bench.peers.memories import WRITERS, Page

T = TypeVar("T")

_PAGE = 1_000


class Conversation(Aggregate):
    """The messages of a session."""

    @event("Started")
    def __init__(self, id: UUID) -> None:
        self._id = id
        self.texts: list[str] = []

    @event("MessageAdded")
    def add(self, text: str) -> None:
        """Add a message."""
        self.texts.append(text)


class Conversations:
    """The application, called from threads, because it is synchronous."""

    def __init__(self, application: Any, threads: ThreadPoolExecutor) -> None:
        self._application = application
        self._threads = threads
        self._log = LocalNotificationLog(application.recorder, section_size=_PAGE)

    async def append(self, session: str, text: str) -> None:
        await self._called(lambda: self._append(UUID(session), text))

    async def texts(self, session: str) -> list[str]:
        return await self._called(lambda: list(self._application.repository.get(UUID(session)).texts))

    async def feed(self, after: int) -> Page:
        return await self._called(lambda: self._feed(after))

    def _append(self, session: UUID, text: str) -> None:
        """Append; like any user of optimistic concurrency, try again if another writer was faster."""
        while True:
            try:
                conversation = self._application.repository.get(session)
            except AggregateNotFoundError:
                conversation = Conversation(session)
            conversation.add(text)
            try:
                self._application.save(conversation)
            except IntegrityError:
                continue
            return

    def _feed(self, after: int) -> list[tuple[int, str]]:
        found = self._log.select(start=after + 1, limit=_PAGE)
        events = [(each.id, self._application.mapper.to_domain_event(each)) for each in found]
        return [(place, getattr(each, "text", "")) for place, each in events]

    async def _called(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)


@asynccontextmanager
async def opened(url: str, app_url: str) -> AsyncIterator[Conversations]:
    """Open the application on its Postgres module; it creates the tables."""
    parts = urlsplit(url)
    settings = {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": unquote(parts.path[1:]),
        "POSTGRES_HOST": parse_qs(parts.query)["host"][0],
        "POSTGRES_PORT": "5432",
        "POSTGRES_USER": parts.username or "",
        "POSTGRES_PASSWORD": "none",  # the temporary server trusts local users
        "POSTGRES_POOL_SIZE": str(WRITERS),
        "AGGREGATE_CACHE_MAXSIZE": "1000",
    }
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        application = Application(env=settings)
        try:
            yield Conversations(application, threads)
        finally:
            application.close()
