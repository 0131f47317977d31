"""Functions of routes get what FastAPI would pass them: for every route, by random requests."""

import random
from contextlib import AsyncExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import pytest
from fastapi import Depends, Header, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import solve_dependencies
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import PydanticUndefined

from ledger.errors import InvalidInput
from ledger.server import compat, health, native
from ledger.server.http.route_arguments import NOT_SENT, Arguments, query_of
from ledger.server.http.route_kinds import native_router, together
from tests.support import probe_routes as probe

ROUTES = [
    cast(APIRoute, route)
    for route in together(health.router, compat.router, compat.redirects, native.router, *probe.ROUTERS).routes
]
_TEXTS = ("", "a", "7", "-1", "1e3", "0", "true", "null", "x" * 300, "99999999999999999999999", "é")
_BODIES: tuple[object, ...] = (
    NOT_SENT,
    None,
    7,
    "text",
    [],
    {},
    {"entries": [{"role": "user"}]},
    {"entries": 7, "other": 1},
    {"content": "a"},
    {"version": "3"},
    {"messages": [{"role": "user", "content": "a"}], "memories": "x"},
    {"text": "a", "limit": "many"},
)


def echoing(dependant: Dependant) -> Dependant:
    """Return *dependant* with functions that return their arguments, and do nothing."""

    async def function(**values: object) -> dict[str, object]:
        return {name: value for name, value in values.items() if name not in {"request", "response"}}

    return replace(dependant, call=function, dependencies=[echoing(each) for each in dependant.dependencies])


def random_request(dependant: Dependant, dice: random.Random) -> Request:
    """Return a request with some of the parameters that *dependant* or its dependencies declare."""
    path: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    headers: list[tuple[bytes, bytes]] = []
    pending = [dependant]
    while pending:
        one = pending.pop()
        path.update({field.alias: dice.choice(_TEXTS) for field in one.path_params})
        for field in one.query_params:
            query += [(field.alias, dice.choice(_TEXTS)) for _ in range(dice.choice((0, 1, 1, 2)))]
        for field in one.header_params:
            headers += [(field.alias.encode(), dice.choice(_TEXTS).encode()) for _ in range(dice.choice((0, 1, 2)))]
        pending += one.dependencies
    return Request(
        {
            "type": "http",
            "method": "POST",
            "path_params": path,
            "query_string": urlencode(query).encode(),
            "headers": headers,
        }
    )


async def by_fastapi(dependant: Dependant, request: Request, body: object) -> object:
    async with AsyncExitStack() as stack:
        request.scope.update(fastapi_inner_astack=stack, fastapi_function_astack=stack)
        solved = await solve_dependencies(
            request=request,
            dependant=dependant,
            body=PydanticUndefined if body is NOT_SENT else body,
            async_exit_stack=stack,
            embed_body_fields=False,
        )
    if solved.errors:
        raise RequestValidationError(solved.errors)
    assert dependant.call is not None
    return await dependant.call(**solved.values)


async def by_us(arguments: Arguments, request: Request, body: object) -> object:
    return await arguments.call(request, query_of(request), None, body)


async def outcome(called: Any) -> tuple[str, object]:
    try:
        return "called", await called
    except RequestValidationError as refused:
        return "refused", refused.errors()
    except InvalidInput as fault:
        return fault.code, str(fault)


def arguments_of(dependant: Dependant) -> Arguments:
    return Arguments.of(cast(APIRoute, SimpleNamespace(dependant=dependant, path="", _embed_body_fields=False)))


async def differences(dependant: Dependant, arguments: Arguments, dice: random.Random) -> int:
    """Return in how many of 25 random requests FastAPI passes or refuses something else."""
    found = 0
    for _ in range(25):
        request, body = random_request(dependant, dice), dice.choice(_BODIES)
        expected = await outcome(by_fastapi(dependant, request, body))
        found += await outcome(by_us(arguments, request, body)) != expected
    return found


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{min(route.methods)} {route.path}")
async def test_a_route_gets_the_arguments_that_it_declares(route: APIRoute) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    dependant = echoing(route.dependant)
    assert await differences(dependant, arguments_of(dependant), random.Random(seed)) == 0


async def test_another_default_is_found() -> None:
    """Negative control: also one that only an absent parameter shows."""
    router = native_router()

    @router.get("/probe")
    async def function(several: list[str] = Query(default=[]), one: str = Header(default="a")) -> None: ...  # noqa: B008

    dependant = echoing(cast(APIRoute, router.routes[0]).dependant)
    arguments = arguments_of(dependant)
    assert await differences(dependant, arguments, random.Random(1)) == 0
    broken = replace(
        arguments,
        calls=tuple(
            replace(call, parameters=tuple(replace(each, several=False) for each in call.parameters))
            for call in arguments.calls
        ),
    )
    assert await differences(dependant, broken, random.Random(1)) > 0


def test_a_dependency_is_called_once() -> None:
    async def shared() -> None: ...

    async def other(of: None = Depends(shared)) -> None: ...

    router = native_router()

    @router.get("/probe")
    async def function(first: None = Depends(shared), second: None = Depends(other)) -> None: ...

    calls = Arguments.of(cast(APIRoute, router.routes[0])).calls
    assert [call.function for call in calls].count(shared) == 1


def test_a_declaration_that_is_not_supported_is_refused_at_once() -> None:
    router = native_router()

    def blocks() -> None:
        """Not async: it would block all requests."""

    with pytest.raises(TypeError, match="is async"):
        router.get("/probe")(blocks)
