"""What all routes share: the services of the application, the settings, the notifier and the quotas."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request

from ledger.application.handle import NamespaceHandle
from ledger.application.rights import Rights
from ledger.application.services import Services, open_services
from ledger.events.names import DEFAULT_NAMESPACE, check_name
from ledger.ports import Clock, EventStore, Store, with_events
from ledger.server.access.callers import Caller
from ledger.server.notifier import Notifier, NotifyingEventStore
from ledger.server.service_settings import ServiceSettings
from ledger.server.traffic import tracing
from ledger.server.traffic.metrics import Metrics
from ledger.server.traffic.quotas import CountingEventStore, Quotas
from ledger.settings import Settings
from ledger.stores.factory import open_store

#: How long a request waits for an index that is being brought up to date; then the answer is 503 with `Retry-After`.
INDEX_PATIENCE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Service:
    """A running service; `open` creates and closes it."""

    services: Services
    settings: ServiceSettings
    notifier: Notifier
    quotas: Quotas
    namespace: str = DEFAULT_NAMESPACE
    """The namespace of requests that name none."""
    metrics: Metrics | None = None
    """The metrics, if the settings turn them on."""
    spans: Any = None
    """The tracer provider, if the service is traced."""
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the service is about to stop: load balancers should choose another one."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the service accepts no more requests; streams then end by themselves."""

    @property
    def store(self) -> Store:
        """The store of the services."""
        return self.services.store

    @property
    def clock(self) -> Clock:
        """The clock of the services."""
        return self.services.clock

    def handle(self, namespace: str, caller: Caller) -> NamespaceHandle:
        """Return the services for *caller* in *namespace*, with the rights of their credential."""
        models: frozenset[str] | None = None
        if not caller.permits("admin"):
            own = self.services.compactor.default_summarizer.model
            models = frozenset({*self.settings.allowed_models, self.settings.generation_model, own or ""} - {""})
        return NamespaceHandle(self.services, namespace, caller.actor, Rights(caller.permits("system"), models))

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
        """Open the store that *settings* name, unless one is given, and the services over it.

        Raises:
            DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
        """
        namespace = check_name(settings.namespace, field="namespace")
        service_settings = service_settings.with_model_of(settings)
        spans = tracing.provider() if service_settings.tracing else None
        own = store or await open_store(settings, served=True)
        notifier, quotas = Notifier(own.events), Quotas(service_settings)
        try:
            async with open_services(
                settings,
                store=with_events(own, decorated_events(own.events, notifier, quotas, spans)),
                clock=clock,
                summarizer_model=service_settings.generation_model,
                reconstruct=service_settings.index_all_messages_in_long_term_memory,
                open_namespaces=service_settings.open_namespaces,
                index_patience_s=INDEX_PATIENCE_S,
            ) as services:
                services.compactor.most_in_a_row = service_settings.compactions_in_a_row
                metrics = Metrics() if service_settings.metrics else None
                yield cls(services, service_settings, notifier, quotas, namespace, metrics, spans)
        finally:
            if store is None:
                await own.close()


def decorated_events(events: EventStore, notifier: Notifier, quotas: Quotas, spans: Any = None) -> EventStore:
    """Return *events* with the additions of a service: notifications, quotas and, with *spans*, tracing."""
    counted = CountingEventStore(NotifyingEventStore(events, notifier), quotas)
    return tracing.TracedEventStore(counted, spans) if spans is not None else counted


async def service_of(request: Request) -> Service:
    """Return the service that received *request*."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
