"""Complete the OpenAPI document: the token and scope of a route, the parameters of its path, the age of its answer."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute

from ledger.events import JsonObject
from ledger.server.access import callers
from ledger.server.http.answer_headers import INDEX_AGE

_SCHEME: Final = "token"
_DESCRIPTION: Final = "A token of `memory-ledger token add`, or a JWT of the issuer; by the setting `AUTH_MODE`."

_AGE: Final = "Only where this server takes no writes: how old the index is that the answer comes from."


def complete(document: JsonObject, routes: Sequence[BaseRoute], *, authenticated: bool) -> None:
    """Add to *document* what each of *routes* needs; without authentication a token is allowed, but not needed."""
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes[_SCHEME] = {"type": "http", "scheme": "bearer", "description": _DESCRIPTION}
    for context in iter_route_contexts(routes):
        route, path = context.original_route, str(context.path)
        for method in sorted(route.methods or ()) if isinstance(route, APIRoute) else ():
            operation = document["paths"].get(path, {}).get(method.lower())
            if operation is not None:
                scope = required_scope(context.dependant)
                operation["security"] = _security(scope, authenticated=authenticated)
                _describe_path(operation, path)
                if scope == "read":
                    _describe_age(operation)


def required_scope(dependant: Dependant) -> str | None:
    """Return the scope that a route needs; empty if any credential will do, None if it needs none or may do without."""
    called = set(_calls(dependant))
    scopes = [call.scope for call in called if isinstance(call, callers.Permission)]
    if scopes:
        return scopes[0]
    return "" if callers.caller in called else None


def _security(scope: str | None, *, authenticated: bool) -> list[JsonObject]:
    if scope is None:
        return []
    needed: JsonObject = {_SCHEME: [scope] if scope else []}
    return [needed] if authenticated else [{}, needed]


def _describe_path(operation: JsonObject, path: str) -> None:
    known = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "path"}
    for name in re.findall(r"\{(\w+)\}", path):
        if name not in known:
            described = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            operation.setdefault("parameters", []).append(described)


def _describe_age(operation: JsonObject) -> None:
    for status, answer in operation["responses"].items():
        if str(status).startswith("2"):
            described = {"description": _AGE, "required": False, "schema": {"type": "string"}}
            answer.setdefault("headers", {})[INDEX_AGE] = described


def _calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for each in dependant.dependencies:
        yield from _calls(each)
