"""Run the application under uvicorn, and its background work, in this process."""

import asyncio
import gc
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext

import uvicorn
from fastapi import FastAPI

from ledger.errors import Unavailable
from ledger.ports import Store
from ledger.server.application import create_app
from ledger.server.heavy_requests import HeavyRequests, helper
from ledger.server.helper_process import HelperProcess
from ledger.server.http.guard import RequestGuard
from ledger.server.http.protocol import deadline_protocol
from ledger.server.service import Service
from ledger.server.service_settings import ServiceSettings
from ledger.server.traffic import logs, tracing
from ledger.server.traffic.observers import Observers, RequestLog, RequestObserver
from ledger.settings import Settings
from ledger.worker import Worker, load_worker_settings

_KEEP_ALIVE_S = 5
_POLL_S = 0.1


class GracefulServer(uvicorn.Server):
    """Ends streams when it stops, and returns instead of raising the signal again."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve on for the drain delay; then accept no more connections and let accepted requests finish."""
        self._service.draining.set()
        until_s = time.monotonic() + self._service.settings.drain_s
        while time.monotonic() < until_s and not self.force_exit:  # noqa: ASYNC110 - a flag of uvicorn
            await asyncio.sleep(_POLL_S)
        self._service.stopping.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop gracefully at the first signal, at once at a second Ctrl-C; the caller then closes the service."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


async def serve_from(
    listeners: Sequence[socket.socket],
    settings: Settings,
    service_settings: ServiceSettings,
    *,
    store: Store | None = None,
    ready: Callable[[], None],
) -> None:
    """Serve the connections of *listeners* in this process, from *store* if given; call *ready* before the first.

    Raises:
        DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
    """
    async with (
        Service.open(settings, service_settings, store=store) as service,
        background(service) as worker,
        _numbers(service, worker),
        helper(settings, service_settings) as process,
    ):
        logs.configure(service_settings.log_level)
        server = GracefulServer(configuration(service, service_settings, process), service)
        gc.freeze()  # most objects live as long as the process: collecting them took half a second at its end
        ready()
        await server.serve(sockets=list(listeners))


def _numbers(service: Service, worker: Worker | None) -> AbstractAsyncContextManager[None]:
    if service.metrics is None:
        return nullcontext()
    return service.metrics.gauges.following(service.services, notifier=service.notifier, worker=worker)


def listener_on(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        Unavailable: it cannot listen there.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as fault:
        raise Unavailable(f"cannot listen on port {port}: {fault.strerror or 'bad address'}") from fault


def configuration(
    service: Service,
    settings: ServiceSettings,
    process: HelperProcess | None = None,
    *,
    app: FastAPI | None = None,
) -> uvicorn.Config:
    """Return the configuration of uvicorn for *service*, with another *app* than the usual one if given.

    *process* answers its heavy requests, if given.
    """
    app = app or create_app(service, settings)
    observers: list[RequestObserver] = [app.state.quotas, RequestLog()]
    if service.metrics is not None:
        observers.append(service.metrics)
    if service.spans is not None:
        observers.append(tracing.Spans(service.spans))
    return uvicorn.Config(
        RequestGuard(
            app if process is None else HeavyRequests(app, service, process),
            settings,
            Observers(service.clock, *observers),
            service.stopping,
        ),
        host=settings.host,
        port=settings.port,
        http=deadline_protocol(settings),
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=settings.shutdown_grace_s,
    )


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
