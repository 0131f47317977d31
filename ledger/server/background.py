"""The worker inside a service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ledger.server.service import Service
from ledger.worker import Worker, load_worker_settings


@asynccontextmanager
async def background(service: Service) -> AsyncIterator[Worker | None]:
    """Run a worker in *service* while the context is open; yield None if the settings turn it off.

    Raises:
        InvalidInput: ``bad_setting``: a setting of the worker is wrong.
    """
    if not service.settings.worker:
        yield None
        return
    async with Worker(service.services, settings=load_worker_settings()) as worker:
        yield worker
