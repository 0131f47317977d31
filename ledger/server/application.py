"""The application: its routes and what they share."""

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from ledger.events import JsonObject
from ledger.release import RELEASE
from ledger.server import compat, health, native
from ledger.server.access.callers import Authenticator, NoAuthentication
from ledger.server.authentication import authenticator_of
from ledger.server.http import openapi_security
from ledger.server.http.answer_headers import IndexAge
from ledger.server.http.route_kinds import together
from ledger.server.http.route_table import RouteTable
from ledger.server.mcp_routes import mcp_routes
from ledger.server.service import Service
from ledger.server.service_settings import ServiceSettings
from ledger.server.ui import login_routes, viewer_page


class Application(FastAPI):
    """Routes without middleware: `guard.RequestGuard`, around them, has their checks and answers what they raise."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out a request; without the telemetry of FastAPI, since `tracing` has ours."""
        await Starlette.__call__(self, scope, receive, send)

    def openapi(self) -> JsonObject:
        """Return the OpenAPI document, with the scopes of the routes."""
        if self.openapi_schema is None:
            document = super().openapi()
            authenticated = not isinstance(self.state.authenticator, NoAuthentication)
            openapi_security.complete(document, self.routes, authenticated=authenticated)
            self.openapi_schema = document
        return self.openapi_schema

    def build_middleware_stack(self) -> ASGIApp:
        """Return the routes, whose answers say how old they are."""
        return IndexAge(RouteTable(self.routes))


def create_app(service: Service, settings: ServiceSettings, *, authenticator: Authenticator | None = None) -> FastAPI:
    """Return the application of *service*, which stays open when the application ends.

    With an *authenticator*, the one that the settings name is not used.
    """
    app = Application(
        title="Memory Ledger",
        version=RELEASE,
        docs_url="/docs" if settings.docs else None,
        openapi_url="/openapi.json" if settings.docs else None,
        redoc_url=None,
    )
    app.state.service = service
    app.state.authenticator = authenticator or authenticator_of(service, settings)
    app.state.namespace = service.namespace
    app.state.quotas = service.quotas
    app.state.metrics = service.metrics
    app.router.routes += together(health.router, compat.router, compat.redirects, native.router).routes
    app.router.routes += mcp_routes(settings)
    if settings.ui:
        app.router.routes += together(viewer_page.router, login_routes.begin, login_routes.rest).routes
    return app
