"""What the routes share: the services of the application, the settings, and what wakes streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import Request

from ledger.application.services import Services, open_services
from ledger.ports import Clock, Store
from ledger.server.bells import Bells
from ledger.server.settings import ServiceSettings
from ledger.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """A running service; made by `open`, which also closes it."""

    services: Services
    settings: ServiceSettings
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the service takes no more requests; streams end by themselves then."""
    bells: Bells = field(init=False)
    """What wakes streams."""

    def __post_init__(self) -> None:
        """Hear the appends of the store."""
        object.__setattr__(self, "bells", Bells(self.store))

    @property
    def store(self) -> Store:
        """Where everything is."""
        return self.services.store

    @property
    def clock(self) -> Clock:
        """The time."""
        return self.services.clock

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
        async with open_services(
            settings,
            store=store,
            clock=clock,
            summarizer_model=service_settings.generation_model,
            reconstruct=service_settings.index_all_messages_in_long_term_memory,
            open_namespaces=service_settings.open_namespaces,
            served=True,
        ) as services:
            yield cls(services, service_settings)


async def service_of(request: Request) -> Service:
    """Return the service that *request* came to."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
