"""A service for one reader on this machine: it only reads, and only the browser that has the one-time key may ask."""

import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Final

from fastapi import FastAPI
from starlette.routing import BaseRoute, Route

from ledger.ports import Store
from ledger.server.access.browser_login import BrowserLogin, OneTimeKey
from ledger.server.access.callers import Caller
from ledger.server.access.grants import GrantSeal
from ledger.server.access.reading_routes import only_reads
from ledger.server.application import create_app
from ledger.server.authentication import Credentials
from ledger.server.heavy_requests import helper
from ledger.server.service import Service
from ledger.server.service_settings import ServiceSettings, load_service_settings
from ledger.server.serving import GracefulServer, configuration, listener_on
from ledger.server.traffic import logs
from ledger.server.ui.route_answers import RouteAnswers
from ledger.settings import Settings

#: Who reads; every namespace of the ledger is theirs, as on the command line.
READER: Final = Caller("view", frozenset({"read"}), None, "view", in_viewer=True)
_ADDRESS: Final = "127.0.0.1"


@asynccontextmanager
async def open_view(settings: Settings, store: Store) -> AsyncIterator[Service]:
    """Open a service over *store* that does no work of its own and can be asked by loopback names only."""
    given = load_service_settings(host=_ADDRESS, port=0, worker=False, auth_mode="none", ui=True, log_level="WARNING")
    off = {"management_port": None, "allowed_hosts": (), "metrics": False, "tracing": False, "docs": False}
    async with Service.open(settings, given.model_copy(update=off), store=store) as service:
        yield service


async def serve_view(
    service: Service, settings: Settings | None, *, port: int, path: str, ready: Callable[[str], None]
) -> None:
    """Serve until a signal arrives; call *ready* with the address of the page *path*, which has the one-time key.

    With the *settings* of its database, what takes long is answered in a process of its own.

    Raises:
        Unavailable: it cannot listen on *port*.
    """
    key = OneTimeKey(READER)
    logs.configure(service.settings.log_level)
    app = view_app(service, service.settings, key)
    helping = nullcontext() if settings is None else helper(settings, service.settings)
    with listener_on(_ADDRESS, port) as listener:
        async with helping as process:
            config = configuration(service, service.settings, process, app=app)
            ready(address(listener, path, key))
            await GracefulServer(config, service).serve(sockets=[listener])


def view_app(service: Service, settings: ServiceSettings, key: OneTimeKey) -> FastAPI:
    """Return the application with the routes that only read, for whoever logs in with *key*."""
    login = BrowserLogin(
        GrantSeal(secrets.token_bytes(32)),
        service.clock,
        otherwise=Credentials([]),
        by_credential=key.spend,
        holder=key.spend,
    )
    app = create_app(service, settings, authenticator=login)
    app.router.routes[:] = [route for route in app.router.routes if _is_offered(route)]
    return app


def answers_of(service: Service, session_id: str, user_id: str | None) -> RouteAnswers:
    """Return what the routes answer about a session, without a network."""
    app = create_app(service, service.settings, authenticator=Credentials([]))
    return RouteAnswers(app, READER, namespace=service.namespace, session_id=session_id, user_id=user_id)


def address(listener: socket.socket, path: str, key: OneTimeKey) -> str:
    """Return the address to open: the key is in the fragment, which no browser sends and no log has."""
    return f"http://{_ADDRESS}:{listener.getsockname()[1]}/{path}#key={key.text}"


def _is_offered(route: BaseRoute) -> bool:
    if not isinstance(route, Route):
        return False
    is_of_the_page = route.path == "/ui" or route.path.startswith("/ui/")
    return is_of_the_page or all(only_reads(method, route.path) for method in route.methods or ())
