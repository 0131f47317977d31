"""Run the application under uvicorn."""

import asyncio
import gc
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from ledger.errors import Unavailable
from ledger.ports import Store
from ledger.server import logs, tracing
from ledger.server.application import create_app
from ledger.server.background import background
from ledger.server.guard import RequestGuard
from ledger.server.heavy_requests import HeavyRequests, helper
from ledger.server.helper_process import HelperProcess
from ledger.server.observers import Observers, RequestLog, RequestObserver
from ledger.server.processes import Processes
from ledger.server.protocol import guarded_protocol
from ledger.server.service import Service
from ledger.server.settings import ServiceSettings
from ledger.settings import Settings
from ledger.stores.factory import open_embedded_server, open_store

_KEEP_ALIVE_S = 5


class GracefulServer(uvicorn.Server):
    """Ends streams when it stops, and returns instead of raising the signal again."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections; let accepted requests finish."""
        self._stopping.set()
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


async def serve(
    settings: Settings, service_settings: ServiceSettings, *, processes: int = 1, say: Callable[[str], None]
) -> None:
    """Serve with one or more *processes* until a signal arrives; then let accepted requests finish.

    Raises:
        Unavailable: the service cannot listen on the address.
        DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
    """
    with _listening(service_settings) as listener:
        host, port = listener.getsockname()[:2]

        def ready() -> None:
            if service_settings.auth_mode == "none":
                say("authentication is off (AUTH_MODE=none): everyone who can reach this address may do everything")
            say(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}")

        async with open_embedded_server(settings):
            if processes == 1:
                await serve_from(listener, settings, service_settings, ready=ready)
            else:
                await (await open_store(settings, served=True)).close()  # its errors, before there are processes
                logs.configure(service_settings.log_level)
                gc.freeze()  # as in `serve_from`
                await Processes(listener, settings, service_settings, processes).run(ready=ready)


async def serve_from(
    listener: socket.socket,
    settings: Settings,
    service_settings: ServiceSettings,
    *,
    store: Store | None = None,
    ready: Callable[[], None],
) -> None:
    """Serve the connections of *listener* in this process, from *store* if given; call *ready* before the first.

    It raises the errors of `serve`.
    """
    async with (
        Service.open(settings, service_settings, store=store) as service,
        background(service),
        helper(settings, service_settings) as process,
    ):
        logs.configure(service_settings.log_level)
        server = GracefulServer(configuration(service, service_settings, process), service.stopping)
        gc.freeze()  # most objects live as long as the process: collecting them took half a second at its end
        ready()
        await server.serve(sockets=[listener])


@contextmanager
def _listening(settings: ServiceSettings) -> Iterator[socket.socket]:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as fault:
        raise Unavailable(f"cannot listen on port {settings.port}: {fault.strerror or 'bad address'}") from fault
    with listener:
        yield listener


def configuration(service: Service, settings: ServiceSettings, process: HelperProcess | None = None) -> uvicorn.Config:
    """Return the configuration of uvicorn for *service*; *process* answers its heavy requests, if given."""
    app = create_app(service, settings)
    observers: list[RequestObserver] = [app.state.quotas, RequestLog()]
    if app.state.metrics is not None:
        observers.append(app.state.metrics)
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
        http=guarded_protocol(settings),
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
