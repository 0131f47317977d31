"""Writes docs/api-reference.md from the routes: ``python docs/routes.py``. A test compares the two."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from ledger.server import callers, compat, health, native

TARGET = Path(__file__).with_name("api-reference.md")

_SCOPES = {"_reader": "read", "_writer": "write", "_admin": "admin", "_importer": "import"}
_ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")
_WORKING_MEMORY = (
    "What is different from the server they come from: [moving](migrating.md#what-is-different). Faults are "
    '`{"detail": …}`.'
)
_NATIVE = "By example: [the HTTP API](http-api.md). Faults are `application/problem+json`."
_PARTS = (
    ("The working-memory API", compat.router, _WORKING_MEMORY),
    ("The native API", native.router, _NATIVE),
    ("The service itself", health.router, "What they tell: [the service](service.md#running-it)."),
)
_HEAD = """# API reference

Every route, made from the code. Fields of bodies and answers, with examples, are in `GET /openapi.json`, served while
`MEMORY_LEDGER_DOCS=true`. *Scope* is what a [token](service.md#tokens) needs; a route that takes entries also asks for
`system` where one of them has that role. *Answers* are those of a request that is served.

Any route may also answer 400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 503 or 507, as
[the HTTP API](http-api.md#what-is-refused) tells, and before any route 408, 414 and 431. Where a session is named,
`namespace` and `user_id` are query parameters. A path ends in a slash, or does not, as it stands here.
"""


def routes_markdown() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(f"## {title}\n\n{text}\n\n{_table(router)}" for title, router, text in _PARTS)])


def _table(router: APIRouter) -> str:
    found = []
    for context in iter_route_contexts(router.routes):
        route = context.original_route
        if isinstance(route, APIRoute):
            found += [(str(context.path), method, route) for method in sorted(route.methods or ())]
    rows = ["| method | path | scope | does | answers |", "| --- | --- | --- | --- | --- |"]
    for path, method, route in sorted(found, key=lambda one: (one[0], _ORDER.index(one[1]))):
        does = " ".join(re.sub(r"\s*Source:.*", "", route.endpoint.__doc__ or "", flags=re.DOTALL).split())
        first = (
            re.sub(r" \((trust|http|R-|W-)[^)]*\)", "", re.split(r"(?<=\.) ", does)[0])
            .replace("``", "`")
            .rstrip(".")
            .replace("|", "\\|")
        )
        answers = ", ".join(_answers(route))
        rows.append(f"| {method} | `{path}` | {_scope(route.dependant)} | {first} | {answers} |")
    return "\n".join(rows) + "\n"


def _scope(dependant: Dependant) -> str:
    called = set(_calls(dependant))
    names = [_SCOPES[call.__name__] for call in called if getattr(call, "__name__", "") in _SCOPES]
    if names:
        return f"`{names[0]}`"
    if callers.caller_or_neighbour in called:
        return "this machine, or `read`"
    return "any" if callers.caller in called else "none"


def _calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for each in dependant.dependencies:
        yield from _calls(each)


def _answers(route: APIRoute) -> list[str]:
    own = {str(route.status_code or 200), *(str(status) for status in route.responses if str(status) < "400")}
    return sorted(own)


if __name__ == "__main__":
    TARGET.write_text(routes_markdown())
