"""The worker of a service that does background work itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ledger.server.service import Service
from ledger.worker import Worker, load_worker_settings


@asynccontextmanager
async def background(service: Service) -> AsyncIterator[Worker | None]:
    """Work in the background of *service* until the context ends, unless it was told not to.

    Raises:
        InvalidInput: ``bad_setting``, of the worker.
    """
    if not service.settings.worker:
        yield None
        return
    async with Worker(service.services, settings=load_worker_settings()) as worker:
        yield worker
