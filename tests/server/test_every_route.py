"""Every route requires a caller, except two open ones and the viewer's page (trust S-4)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from ledger.application.services import Services
from ledger.server import Service, create_app, load_service_settings
from ledger.server.access.callers import caller, reader_or_manager
from ledger.server.http.route_kinds import native_router
from ledger.server.http.route_table import RouteTable
from ledger.server.notifier import Notifier
from ledger.server.traffic.quotas import Quotas
from ledger.server.ui.viewer_page import SCREENS
from ledger.stores.in_memory import InMemoryStore
from tests.support import probe_routes as probe

#: The page of the viewer holds nothing, and what it asks for requires a caller.
PAGES = {"/ui", "/ui/", *(f"/ui/{screen}" for screen in SCREENS), "/ui/viewer.js", "/ui/viewer.css", "/ui/icon.svg"}
#: It is no route of FastAPI and asks for the caller itself: tests/adapters/mcp/test_http.py.
ITSELF = {"/mcp"}
OPEN = {"/v1/health", "/healthz"} | PAGES | ITSELF
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


@pytest.mark.parametrize("mode", ["none", "oidc"])
def test_the_openapi_document_has_scopes_path_parameters_and_operation_ids(mode: str) -> None:
    settings = load_service_settings(
        auth_mode=mode, oidc_issuer="https://i.example", oidc_audience="a", oidc_hmac_key="k" * 32
    )
    store = InMemoryStore()
    document = create_app(
        Service(Services(store), settings, Notifier(store.events), Quotas(settings)), settings
    ).openapi()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    ids = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            ids.append(operation["operationId"])
            named = {each["name"]: each["required"] for each in operation.get("parameters", []) if each["in"] == "path"}
            assert named == dict.fromkeys(re.findall(r"{(\w+)}", path), True), (method, path)
            needed = [security for security in operation["security"] if security]
            assert bool(needed) == (path not in OPEN | MANAGED), (method, path)
            assert ({} in operation["security"]) == (mode == "none" and bool(needed))
    assert len(ids) == len(set(ids)) > 50
    shown, added = (
        document["paths"]["/v1/sessions/{session_id}/entries/{entry_id}"][name] for name in ("get", "patch")
    )
    assert [each["security"][-1]["token"] for each in (shown, added)] == [["read"], ["write"]]


async def test_a_method_that_a_path_does_not_take_is_answered_with_those_of_the_document(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    table = RouteTable(app.routes)
    redirected = {"/v1/long-term-memory": {"POST"}, "/v1/working-memory": {"GET"}}  # to the path of the document
    for path in paths:
        parts = ["x" if part.startswith("{") else part for part in path.split("/")]
        forms = [known for known in paths if fits(known.split("/"), parts)]
        wanted = {method.upper() for known in forms for method in paths[known]} | redirected.get(path, set())
        sent: list[Any] = []

        async def send(message: Any, sent: list[Any] = sent) -> None:
            sent.append(message)

        await table({"type": "http", "path": "/".join(parts), "method": "TRACE", "headers": []}, None, send)  # type: ignore[arg-type]
        assert sent[0]["status"] == 405
        assert dict(sent[0]["headers"])[b"allow"].decode().split(", ") == sorted(wanted), path


def fits(form: list[str], parts: list[str]) -> bool:
    return len(form) == len(parts) and all(
        (known.startswith("{") and part) or known == part for known, part in zip(form, parts, strict=True)
    )


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
