"""The two kinds of routes: those of the native API, which are strict, and those of the working-memory API."""

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

from fastapi import APIRouter, Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from ledger.errors import LedgerError
from ledger.server import openapi_responses, problems
from ledger.server.callers import caller
from ledger.server.strict_body import check_parameters, parse_body
from ledger.strict_json import BODY, JsonLimits

JSON: Final = frozenset({"application/json"})


class NativeRoute(APIRoute):
    """A route that refuses unknown fields and answers errors with problem+json (http W-63)."""

    dialect: ClassVar[problems.Dialect] = "native"
    limits: ClassVar[JsonLimits] = BODY
    media_types: ClassVar[frozenset[str]] = JSON

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that finds the caller before it reads the body, and parses the body strictly."""
        handle = super().get_route_handler()
        guarded = is_guarded(self.dependant)

        async def handle_strictly(request: Request) -> Response:
            request.state.route = self.path_format
            try:
                if guarded:
                    await caller(request)
                self.check(request)
                if self.body_field is not None:
                    await parse_body(request, self.limits, self.media_types)
                return _unless_known(request, await handle(request))
            except LedgerError as fault:
                request.state.code = fault.code
                return problems.answer(fault, self.dialect)
            except RequestValidationError as refused:
                return problems.refusal(refused, self.dialect)

        return handle_strictly

    def check(self, request: Request) -> None:
        """Refuse parameters that the route does not know."""
        check_parameters(request, self)


class PatchRoute(NativeRoute):
    """A route that takes a merge patch (RFC 7396)."""

    media_types = frozenset({"application/json", "application/merge-patch+json"})


class CompatRoute(NativeRoute):
    """A route of the working-memory API: the same parser, lenient models, ``{"detail": …}`` (http W-3, W-4)."""

    dialect = "compat"

    def check(self, request: Request) -> None:
        """Allow unknown parameters (http W-3)."""


def _unless_known(request: Request, answer: Response) -> Response:
    """Return *answer*, or 304 if the caller already has it (http W-9)."""
    etag, known = answer.headers.get("etag"), request.headers.get("if-none-match")
    if etag is None or known is None or request.method != "GET" or answer.status_code != 200:
        return answer
    if etag not in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
        return answer
    dropped = {"content-length", "content-type"}
    headers = {name: value for name, value in answer.headers.items() if name not in dropped}
    return Response(status_code=304, headers=headers)


def is_guarded(dependant: Dependant) -> bool:
    """Return whether *dependant* requires a caller."""
    return dependant.call is caller or any(is_guarded(part) for part in dependant.dependencies)


def native_router(**options: Any) -> APIRouter:
    """Return an authenticated router of the native API; *options* are those of `APIRouter`."""
    return _router(NativeRoute, openapi_responses.NATIVE, options)


def patch_router(**options: Any) -> APIRouter:
    """Return an authenticated router of the native API whose routes take merge patches."""
    return _router(PatchRoute, openapi_responses.NATIVE, options)


def compat_router(**options: Any) -> APIRouter:
    """Return an authenticated router of the working-memory API; *options* are those of `APIRouter`."""
    return _router(CompatRoute, openapi_responses.COMPAT, options)


def together(*routers: APIRouter) -> APIRouter:
    """Return one flat router with all routes of *routers*: nested routers match a path again at each level."""
    whole = APIRouter()
    for router in routers:
        whole.routes += router.routes
    return whole


def _router(kind: type[APIRoute], answers: openapi_responses.OpenApiResponses, options: dict[str, Any]) -> APIRouter:
    return APIRouter(route_class=kind, dependencies=[Depends(caller)], responses=answers, **options)
