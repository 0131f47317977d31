"""Every route asks who calls, but the two that need not (trust S-4)."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from ledger.application.services import Services
from ledger.server import Service, create_app, load_service_settings
from ledger.server.callers import caller, caller_or_neighbour
from ledger.server.notifier import Notifier
from ledger.server.quotas import Quotas
from ledger.server.routes import native_router
from ledger.stores.in_memory import InMemoryStore
from tests.support import probe_routes as probe

OPEN = {"/v1/health", "/healthz"}
NEAR = {"/readyz", "/metrics"}


@pytest.fixture
def app() -> FastAPI:
    settings = load_service_settings()
    store = InMemoryStore()
    service = Service(Services(store), settings, Notifier(store.events), Quotas(settings))
    return create_app(service, settings)


def calls(dependant: object) -> Iterator[object]:
    yield dependant.call  # type: ignore[attr-defined]
    for each in dependant.dependencies:  # type: ignore[attr-defined]
        yield from calls(each)


def unguarded(app: FastAPI) -> set[str]:
    """Return the paths of all routes that do not ask who calls."""
    found = set()
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        asked = set(calls(context.dependant)) if isinstance(route, APIRoute) else set()
        if not asked & {caller, caller_or_neighbour}:
            found.add(str(context.path))
    return found


def test_every_route_asks_who_calls(app: FastAPI) -> None:
    assert unguarded(app) == OPEN


def test_only_two_routes_ask_a_neighbour_nothing(app: FastAPI) -> None:
    near = {
        context.path
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute) and caller_or_neighbour in set(calls(context.dependant))
    }
    assert near == NEAR


def test_a_route_that_forgets_is_found(app: FastAPI) -> None:
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
