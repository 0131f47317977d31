"""The application: its routers, and the answers to requests that fail outside of a route."""

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

import ledger
from ledger.errors import LedgerError
from ledger.server import compat, health, native, problems, redirects
from ledger.server.authentication import authenticator_of
from ledger.server.metrics import Metrics
from ledger.server.routes import together
from ledger.server.service import Service
from ledger.server.settings import ServiceSettings


def create_app(service: Service, settings: ServiceSettings) -> FastAPI:
    """Return the application of *service*, which stays open when the application ends."""
    app = FastAPI(
        title="Memory Ledger",
        version=ledger.__version__,
        docs_url="/docs" if settings.docs else None,
        openapi_url="/openapi.json" if settings.docs else None,
        redoc_url=None,
        redirect_slashes=False,  # http W-1: paths match byte for byte
    )
    app.state.service = service
    app.state.authenticator = authenticator_of(service, settings)
    app.state.quotas = service.quotas
    app.state.metrics = Metrics() if settings.metrics else None
    app.router.routes += together(health.router, compat.router, redirects.router, native.router).routes
    app.add_exception_handler(HTTPException, _answer_without_route)
    app.add_exception_handler(LedgerError, _answer_error)
    app.add_exception_handler(Exception, _answer_crash)
    return app


async def _answer_without_route(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    return problems.status_only(fault.status_code, problems.dialect_of(request.url.path), fault.headers)


async def _answer_error(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, LedgerError)
    return problems.answer(fault, problems.dialect_of(request.url.path))


async def _answer_crash(request: Request, fault: Exception) -> Response:
    return problems.answer(LedgerError(), problems.dialect_of(request.url.path))
