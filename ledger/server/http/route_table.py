"""Find the route of a request by the parts of its path, instead of trying one route after the other.

Paths match byte for byte. Source: http W-1, W-2.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ledger.server.http import problems

_PARAMETER: Final = re.compile(r"\{([a-z_]+)\}")


class RouteTable:
    """An application with *routes* alone: nothing is between them and the guard, which answers what they raise.

    Raises:
        TypeError: a route is not one path with whole parts as parameters, or two have the same method and form.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes: dict[tuple[str | None, ...], dict[str, Route]] = {}
        self._places: dict[int, list[tuple[int, ...]]] = {}
        for route in routes:
            self._add(route)

    def _add(self, route: BaseRoute) -> None:
        if not isinstance(route, Route):
            raise TypeError(f"{route!r} is not a route with one path; add the routes of a router one by one")
        parts = route.path.split("/")
        places = tuple(number for number, part in enumerate(parts) if "{" in part)
        if not all(_PARAMETER.fullmatch(parts[place]) for place in places):
            raise TypeError(f"{route.path}: a parameter is a whole part of a path")
        form = tuple(None if "{" in part else part for part in parts)
        methods = self._routes.setdefault(form, {})
        for method in route.methods or ():
            if methods.setdefault(method, route) is not route:
                raise TypeError(f"{method} {route.path}: there are two such routes")
        known = self._places.setdefault(len(parts), [])
        if places not in known:
            known.append(places)
            known.sort(key=len)  # a path without parameters is preferred

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out a request; answer 404 or 405 if there is no route."""
        parts, method = scope["path"].split("/"), scope["method"]
        allowed: list[str] = []
        for routes in self._of(parts):
            route = routes.get(method)
            if route is not None:
                names = zip(route.path.split("/"), parts, strict=True)
                scope["path_params"] = {name[1:-1]: part for name, part in names if name.startswith("{")}
                await route.app(scope, receive, send)
                return
            allowed += routes
        dialect = problems.dialect_of(scope["path"])
        if allowed:
            response = problems.status_only(405, dialect, {"allow": ", ".join(sorted(set(allowed)))})
        else:
            response = problems.status_only(404, dialect)
        await response(scope, receive, send)

    def _of(self, parts: list[str]) -> Iterator[dict[str, Route]]:
        """Yield the routes of a path by method, for each form that the path has."""
        for places in self._places.get(len(parts), ()):
            form: list[str | None] = [*parts]
            for place in places:
                form[place] = None
            found = self._routes.get(tuple(form))
            if found is not None and all(parts[place] for place in places):
                yield found
