"""The route of a path: the one that Starlette finds by trying them all."""

import itertools
import json
from typing import Any, cast

import pytest
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from ledger.server import compat, health, native
from ledger.server.http.route_kinds import together
from ledger.server.http.route_table import RouteTable

ROUTES = [
    cast(Route, route) for route in together(health.router, compat.router, compat.redirects, native.router).routes
]
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_VALUES = ("a", "", "search", "events", "{session_id}", "ä", "a.b", "stats")


def telling(route: Route) -> Route:
    """Return *route* with a function that answers which route it is of, and with which parameters."""

    async def function(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(json.dumps([route.path, scope["path_params"]]))(scope, receive, send)

    told = Route(route.path, lambda request: Response(), methods=list(route.methods or ()))
    told.methods = route.methods
    told.app = function
    return told


async def asked(table: RouteTable, method: str, path: str) -> tuple[int, object, str]:
    """Return the status, the body and the header Allow of the answer."""
    sent: list[Any] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    await table({"type": "http", "method": method, "path": path}, receive, send)
    headers = dict(sent[0]["headers"])
    return sent[0]["status"], json.loads(sent[1]["body"]), headers.get(b"allow", b"").decode()


def by_starlette(method: str, path: str) -> tuple[int, object]:
    """Return the status, and the path and parameters of the route that Starlette finds."""
    scope = {"type": "http", "method": method, "path": path}
    matches = [(route, *route.matches(scope)) for route in ROUTES]
    for route, match, found in matches:
        if match is Match.FULL:
            return 200, [route.path, found["path_params"]]
    return (405 if any(match is Match.PARTIAL for _, match, _ in matches) else 404), None


def paths() -> set[str]:
    """Return paths of every route with all kinds of values, and paths beside them."""
    found = {"", "/", "/v1", "/v1/nothing", "//"}
    for route in ROUTES:
        names = [part for part in route.path.split("/") if part.startswith("{")]
        for values in itertools.product(_VALUES, repeat=len(names)):
            path = route.path
            for name, value in zip(names, values, strict=True):
                path = path.replace(name, value, 1)
            found |= {path, f"{path}/", path.upper()}
    return found


async def test_the_route_is_that_of_starlette() -> None:
    table = RouteTable([telling(route) for route in ROUTES])
    for path in paths():
        for method in _METHODS:
            status, body, _ = await asked(table, method, path)
            assert (status, body if status == 200 else None) == by_starlette(method, path), (method, path)


async def test_another_order_is_found() -> None:
    """Negative control: a path with parameters hides the same one without."""
    table = RouteTable([telling(route) for route in ROUTES])
    for places in table._places.values():
        places.reverse()
    wrong = [path for path in paths() if (await asked(table, "GET", path))[:2] != by_starlette("GET", path)]
    assert wrong


async def test_the_answer_to_a_wrong_method_lists_all_methods() -> None:
    table = RouteTable([telling(route) for route in ROUTES])
    assert (await asked(table, "POST", "/v1/sessions/a/entries/b"))[::2] == (405, "DELETE, GET, PATCH")
    assert (await asked(table, "PATCH", "/v1/long-term-memory/search"))[0] == 200, "a record may have this id"
    assert (await asked(table, "PUT", "/v1/long-term-memory/search"))[::2] == (405, "GET, PATCH, POST")


@pytest.mark.parametrize("path", ["/v1/{id}.json", "/v1/{id:path}"])
def test_a_parameter_is_a_whole_part_of_a_path(path: str) -> None:
    with pytest.raises(TypeError, match="whole part"):
        RouteTable([Route(path, lambda request: Response())])


def test_a_route_that_another_one_hides_is_refused() -> None:
    with pytest.raises(TypeError, match="two such routes"):
        RouteTable([Route("/v1/{a}", lambda request: Response()), Route("/v1/{b}", lambda request: Response())])
