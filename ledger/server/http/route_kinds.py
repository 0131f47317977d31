"""The two kinds of routes: those of the native API, which are strict, and those of the working-memory API."""

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError, ResponseValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ledger.errors import LedgerError
from ledger.events.strict_json import BODY, JsonLimits
from ledger.server.access.callers import caller
from ledger.server.http import openapi_responses, problems
from ledger.server.http.route_arguments import NOT_SENT, Arguments, QueryPairs, query_of
from ledger.server.http.strict_body import check_parameters, parse_body

JSON: Final = frozenset({"application/json"})


class NativeRoute(APIRoute):
    """A route that refuses unknown fields and answers errors with problem+json (http W-63)."""

    dialect: ClassVar[problems.Dialect] = "native"
    limits: ClassVar[JsonLimits] = BODY
    media_types: ClassVar[frozenset[str]] = JSON

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._has_caller = has_caller(self.dependant)
        self._arguments = Arguments.of(self)
        self._sets_headers = any(call.response is not None for call in self._arguments.calls)
        self.app = self._serve

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return `answer`, also for routers that include this route."""
        return self.answer

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.answer(Request(scope, receive, send))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """Return the answer to *request*: find the caller before the body is read, and parse the body strictly."""
        state = request.scope.setdefault("state", {})
        state["route"] = self.path_format
        query = query_of(request)
        try:
            if self._has_caller:
                await caller(request)
            self.check(query)
            body = NOT_SENT
            if self.body_field is not None:
                body = await parse_body(request, self.limits, self.media_types)
            return _unless_known(request, await self._execute(request, query, body))
        except LedgerError as fault:
            state["code"] = fault.code
            return problems.answer(fault, self.dialect)
        except RequestValidationError as refused:
            return problems.refusal(refused, self.dialect)

    async def _execute(self, request: Request, query: QueryPairs, body: object) -> Response:
        """Call the route's function, and serialise its result once."""
        settings = Response() if self._sets_headers else None
        if settings is not None:
            settings.raw_headers.clear()
            settings.status_code = 0
        result = await self._arguments.call(request, query, settings, body)
        if isinstance(result, Response):
            return result
        status = (settings.status_code if settings is not None else 0) or self.status_code or 200
        content = b"" if status == 204 else self._serialised(result)
        response = Response(content, status, media_type="application/json")
        if settings is not None:
            response.raw_headers += settings.raw_headers
        return response

    def _serialised(self, result: object) -> bytes:
        field = self.response_field
        if field is None:
            return msgspec.json.encode(result)
        checked, wrong = field.validate(result, loc=("response",))
        if wrong:
            raise ResponseValidationError(wrong)
        return field.serialize_json(checked)

    def check(self, query: QueryPairs) -> None:
        """Refuse parameters that the route does not know."""
        check_parameters(query, self._arguments.query)


class PatchRoute(NativeRoute):
    """A route that takes a merge patch (RFC 7396)."""

    media_types = frozenset({"application/json", "application/merge-patch+json"})


class CompatRoute(NativeRoute):
    """A route of the working-memory API: the same parser, lenient models, ``{"detail": …}`` (http W-3, W-4)."""

    dialect = "compat"

    def check(self, query: QueryPairs) -> None:
        """Allow unknown parameters (http W-3)."""


def _unless_known(request: Request, answer: Response) -> Response:
    """Return *answer*, or 304 if the caller already has it (http W-9)."""
    if request.method != "GET" or answer.status_code != 200:
        return answer
    etag, known = answer.headers.get("etag"), request.headers.get("if-none-match")
    if etag is None or known is None:
        return answer
    if etag not in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
        return answer
    dropped = {"content-length", "content-type"}
    headers = {name: value for name, value in answer.headers.items() if name not in dropped}
    return Response(status_code=304, headers=headers)


def has_caller(dependant: Dependant) -> bool:
    """Return whether *dependant* requires a caller."""
    return dependant.call is caller or any(has_caller(part) for part in dependant.dependencies)


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
