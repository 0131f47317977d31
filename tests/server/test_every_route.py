"""Every route requires a caller, except two open ones (trust S-4)."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from ledger.application.services import Services
from ledger.server import Service, create_app, load_service_settings
from ledger.server.callers import caller, reader_or_manager
from ledger.server.notifier import Notifier
from ledger.server.quotas import Quotas
from ledger.server.routes import native_router
from ledger.stores.in_memory import InMemoryStore
from tests.support import probe_routes as probe

OPEN = {"/v1/health", "/healthz"}
MANAGED = {"/readyz", "/metrics"}


@pytest.fixture
def app() -> FastAPI:
    settings = load_service_settings()
    store = InMemoryStore()
    service = Service(Services(store), settings, Notifier(store.events), Quotas(settings))
    return create_app(service, settings)


def calls(dependant: object) -> Iterator[object]:
    yield dependant.call  # type: ignore[attr-defined]
    for dependency in dependant.dependencies:  # type: ignore[attr-defined]
        yield from calls(dependency)


def unguarded(app: FastAPI) -> set[str]:
    """Return the paths of all routes that require no caller."""
    found = set()
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        required = set(calls(context.dependant)) if isinstance(route, APIRoute) else set()
        if not required & {caller, reader_or_manager}:
            found.add(str(context.path))
    return found


def test_every_route_requires_a_caller(app: FastAPI) -> None:
    assert unguarded(app) == OPEN


def test_only_two_routes_are_open_on_the_management_port(app: FastAPI) -> None:
    managed = {
        context.path
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute) and reader_or_manager in set(calls(context.dependant))
    }
    assert managed == MANAGED


def test_a_route_without_the_dependency_is_found(app: FastAPI) -> None:
    """Negative control: also one in a router within a router, and a mounted one."""
    outer, inner = native_router(), APIRouter()

    @inner.get("/v1/forgotten")
    async def forgotten() -> None:
        pass

    app.include_router(inner)
    app.include_router(outer)
    app.mount("/mounted", FastAPI())
    for router in probe.ROUTERS:
        app.include_router(router)
    assert unguarded(app) == {*OPEN, "/v1/forgotten", "/mounted"}
