"""Serve until a signal arrives, in this process or in several."""

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from ledger.server.processes import Processes
from ledger.server.service_settings import ServiceSettings
from ledger.server.serving import listener_on, serve_from
from ledger.server.traffic import logs
from ledger.settings import Settings
from ledger.stores.factory import open_embedded_server, open_store
from ledger.stores.snapshot_key import with_common_key


async def serve(
    settings: Settings, service_settings: ServiceSettings, *, processes: int = 1, say: Callable[[str], None]
) -> None:
    """Serve with one or more *processes* until a signal arrives; then let accepted requests finish.

    Raises:
        Unavailable: the service cannot listen on the address.
        DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
    """
    settings, service_settings = with_common_key(settings), service_settings.with_ui_key()
    with _listening(service_settings) as (listeners, bound):

        def ready() -> None:
            if service_settings.auth_mode == "none":
                say("authentication is off (AUTH_MODE=none): everyone who can reach this address may do everything")
            for listener in listeners[1:]:
                say(f"health and metrics on {_url(listener)}")
            if service_settings.ui:
                say(f"viewer on {_url(listeners[0])}/ui/")
            say(f"listening on {_url(listeners[0])}")

        async with open_embedded_server(settings):
            if processes == 1:
                await serve_from(listeners, settings, bound, ready=ready)
            else:
                await (await open_store(settings, served=True)).close()  # its errors, before there are processes
                logs.configure(service_settings.log_level)
                gc.freeze()  # as in `serve_from`
                await Processes(listeners, settings, bound, processes).run(ready=ready)


@contextmanager
def _listening(settings: ServiceSettings) -> Iterator[tuple[list[socket.socket], ServiceSettings]]:
    """Yield the listening sockets, the management port last, and the settings with the number of that port."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(listener_on(settings.host, settings.port))]
        if settings.management_port is not None:
            management = stack.enter_context(listener_on(settings.management_host, settings.management_port))
            settings = settings.model_copy(update={"management_port": management.getsockname()[1]})
            listeners.append(management)
        yield listeners, settings


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
