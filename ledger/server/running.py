"""Running the application under uvicorn."""

from collections.abc import Callable

import uvicorn

from ledger.server.application import create_app
from ledger.server.service import Service
from ledger.server.settings import ServiceSettings
from ledger.settings import Settings


async def serve(settings: Settings, service_settings: ServiceSettings, *, say: Callable[[str], None]) -> None:
    """Serve until a signal comes; then let accepted requests finish.

    Raises:
        DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
    """
    async with Service.open(settings, service_settings) as service:
        server = uvicorn.Server(configuration(service, service_settings))
        say(f"listening on http://{service_settings.host}:{service_settings.port}")
        await server.serve()


def configuration(service: Service, settings: ServiceSettings) -> uvicorn.Config:
    """Return how uvicorn runs the application of *service*."""
    return uvicorn.Config(
        create_app(service, settings),
        host=settings.host,
        port=settings.port,
        http="httptools",
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=settings.shutdown_grace_s,
        limit_concurrency=settings.max_concurrency,
    )
