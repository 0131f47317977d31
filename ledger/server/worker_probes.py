"""The management port of a worker that is not part of a service: ``/readyz``, ``/healthz`` and ``/metrics``."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from prometheus_client import CollectorRegistry, generate_latest
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ledger.server.gauges import Gauges
from ledger.server.service_settings import ServiceSettings
from ledger.server.serving import listener_on
from ledger.server.traffic.metrics import TEXT
from ledger.worker import Worker


class _Server(uvicorn.Server):
    """Leaves signals to the command."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def probes(worker: Worker, settings: ServiceSettings) -> AsyncIterator[None]:
    """Answer on the management port of *settings*, if they name one, while the context is open.

    Raises:
        Unavailable: it cannot listen on that port.
    """
    if settings.management_port is None:
        yield
        return
    registry = CollectorRegistry()
    gauges = Gauges(registry)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/healthz":
                response = Response(status_code=204)
            case "/readyz":
                ready = worker.looks_for_work
                checks = {"worker": "ok" if ready else "does_not_look_for_work"}
                content = {"status": "ready" if ready else "not_ready", "checks": checks}
                response = JSONResponse(content, 200 if ready else 503)
            case "/metrics" if settings.metrics:
                response = Response(generate_latest(registry), media_type=TEXT)
            case _:
                response = Response(status_code=404)
        await response(scope, receive, send)

    with listener_on(settings.management_host, settings.management_port) as listener:
        config = uvicorn.Config(answer, ws="none", lifespan="off", log_config=None, access_log=False)
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with gauges.following(worker.services, worker=worker):
                yield
        finally:
            server.should_exit = True
            await serving
