"""The worker of a service that does background work itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ledger.embedders import configured_embedder
from ledger.server.service import Service
from ledger.settings import Settings
from ledger.summarizers import configured_summarizer
from ledger.worker import Worker, load_worker_settings


@asynccontextmanager
async def background(service: Service, settings: Settings) -> AsyncIterator[Worker | None]:
    """Work in the background of *service* until the context ends, unless it was told not to.

    Raises:
        InvalidInput: ``bad_setting``, of the worker.
    """
    if not service.settings.worker:
        yield None
        return
    model = configured_summarizer(settings, model=service.settings.generation_model)
    vectors = configured_embedder(settings)
    worker = Worker(
        service.store,
        settings=load_worker_settings(),
        ledger_settings=settings,
        summarizer=model,
        embedder=vectors,
        clock=service.clock,
    )
    try:
        async with worker:
            yield worker
    finally:
        for client in (model, vectors):
            if client is not None:
                await client.close()
