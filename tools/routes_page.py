"""Write the table of routes in docs/http-api.md: ``python -m tools.routes_page``. A test compares the two."""

import re
from pathlib import Path

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from ledger.server import compat, health, native
from ledger.server.access import callers
from ledger.server.http.openapi_security import required_scope
from tools.rules import without_rules

TARGET = Path(__file__).parents[1] / "docs" / "http-api.md"
BEGIN = "<!-- made by tools/routes_page.py -->\n\n"
END = "<!-- end -->"

_ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PARTS = (
    (
        "The working-memory API",
        compat.router,
        'Differences: [moving](guides/from-redis.md#what-is-different). Errors are `{"detail": …}`.',
    ),
    ("The native API", native.router, "Errors are `application/problem+json`."),
    ("The service itself", health.router, "See [the service](service.md#running-it)."),
)


def routes_markdown() -> str:
    """Return the lines between the marks."""
    return "\n".join(f"### {title}\n\n{text}\n\n{_table(router)}" for title, router, text in _PARTS)


def _table(router: APIRouter) -> str:
    found = []
    for context in iter_route_contexts(router.routes):
        route = context.original_route
        if isinstance(route, APIRoute):
            found += [(str(context.path), method, route) for method in sorted(route.methods or ())]
    rows = ["| method | path | scope | does | answers |", "| --- | --- | --- | --- | --- |"]
    for path, method, route in sorted(found, key=lambda row: (row[0], _ORDER.index(row[1]))):
        does = " ".join(without_rules(route.endpoint.__doc__ or "").split())
        first = re.split(r"(?<=\.) ", does)[0].rstrip(".").replace("``", "`").replace("|", "\\|")
        answers = ", ".join(_answers(route))
        rows.append(f"| {method} | `{path}` | {_scope(route.dependant)} | {first} | {answers} |")
    return "\n".join(rows) + "\n"


def _scope(dependant: Dependant) -> str:
    scope = required_scope(dependant)
    if scope is None:
        managed = any(each.call is callers.reader_or_manager for each in dependant.dependencies)
        return "`read`, or on the management port" if managed else "none"
    return f"`{scope}`" if scope else "any"


def _answers(route: APIRoute) -> list[str]:
    own = {str(route.status_code or 200), *(str(status) for status in route.responses if str(status) < "400")}
    return sorted(own)


def main() -> None:
    """Write the table into its page."""
    before, _, rest = TARGET.read_text().partition(BEGIN)
    TARGET.write_text(f"{before}{BEGIN}{routes_markdown()}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
