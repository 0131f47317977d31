"""What the routes share: the store, the ledgers over it, the clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import Request

from ledger.clock import SystemClock
from ledger.embedders import configured_embedder
from ledger.opening import open_store
from ledger.ports import Clock, Store
from ledger.records import LongTermMemory
from ledger.server.bells import Bells
from ledger.server.settings import ServiceSettings
from ledger.server.spaces import Spaces
from ledger.settings import Settings
from ledger.summarizers import configured_summarizer


@dataclass(frozen=True, slots=True)
class Service:
    """A running service; made by `open`, which also closes it."""

    store: Store
    spaces: Spaces
    long_term: LongTermMemory
    clock: Clock
    settings: ServiceSettings
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the service takes no more requests; streams end by themselves then."""
    bells: Bells = field(init=False)
    """What wakes streams."""

    def __post_init__(self) -> None:
        """Hear the appends of the store."""
        object.__setattr__(self, "bells", Bells(self.store))

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        service_settings: ServiceSettings,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
    ) -> "AsyncIterator[Service]":
        """Open the store that *settings* name, unless one is given, and what stands on it.

        Raises:
            DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
        """
        summarizer, embedder = (
            configured_summarizer(settings, model=service_settings.generation_model),
            configured_embedder(settings),
        )
        own = store or await open_store(settings, served=True)
        moment = clock or SystemClock()
        spaces = Spaces(
            own,
            settings=settings,
            clock=moment,
            summarizer=summarizer,
            embedder=embedder,
            reconstruct=service_settings.index_all_messages_in_long_term_memory,
            capacity=service_settings.open_namespaces,
        )
        long_term = LongTermMemory(
            own, namespaces=(), clock=moment, language=settings.search_language, embedder=embedder
        )
        try:
            yield cls(store=own, spaces=spaces, long_term=long_term, clock=moment, settings=service_settings)
        finally:
            await spaces.close()
            for client in (summarizer, embedder):
                if client is not None:
                    await client.close()
            if store is None:
                await own.close()


async def service_of(request: Request) -> Service:
    """Return the service that *request* came to."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
