"""The endpoint of the Model Context Protocol: callers, scopes, namespaces and quotas are those of all routes.

Each request is answered by itself, with JSON: no session of the protocol is held, so any process can answer, and a
token is checked at every call. Source: adapters MC-6.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from ledger.adapters.mcp.stdio import server_over
from ledger.adapters.mcp.tool_calls import CallContext, LedgerOfCall
from ledger.errors import InvalidInput, LedgerError, NotPermitted
from ledger.memory import MemoryLedger
from ledger.server.access import callers
from ledger.server.http import problems
from ledger.server.service import Service, service_of
from ledger.server.service_settings import ServiceSettings


class McpEndpoint:
    """Answers the requests of the protocol, at *path*."""

    def __init__(self, settings: ServiceSettings, path: str, *, read_only: bool) -> None:
        self._path = path
        self._server = server_over(CallersLedger(), read_only=read_only)
        self._most_bytes = settings.max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive, send)
        state = scope.setdefault("state", {})
        state["route"] = self._path
        try:
            _check_origin(request)
            known = await callers.caller(request)
            known.namespace(_namespace(request))
        except LedgerError as fault:
            state["code"] = fault.code
            await problems.answer(fault, "native")(scope, receive, send)
            return
        # its tasks end with the request, so there is nothing to start and stop with the service
        manager = StreamableHTTPSessionManager(
            self._server.protocol, json_response=True, stateless=True, max_request_body_size=self._most_bytes
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


class CallersLedger:
    """The ledger of the caller of each request, in the namespace that the request names."""

    async def reader(self, context: CallContext) -> LedgerOfCall:
        """See `LedgerSource.reader`."""
        return await _ledger_for(context, callers.Permission("read"))

    async def writer(self, context: CallContext) -> LedgerOfCall:
        """See `LedgerSource.writer`."""
        return await _ledger_for(context, callers.Permission("write"))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """See `LedgerSource.opened`; the service is open already."""
        yield None


async def _ledger_for(context: CallContext, permission: callers.Permission) -> LedgerOfCall:
    request = context.request_context.request
    assert isinstance(request, Request), "it came over HTTP"
    known = await permission(request)
    service: Service = await service_of(request)
    return LedgerOfCall.of(MemoryLedger(service.handle(known.namespace(_namespace(request)), known)))


def _namespace(request: Request) -> str | None:
    """Return the namespace in the URL, such as ``/mcp?namespace=team-a``; None if it names none.

    Raises:
        InvalidInput: ``bad_namespace``: it is sent twice.
    """
    named = request.query_params.getlist("namespace")
    if len(named) > 1:
        raise InvalidInput("bad_namespace", "must be sent only once", field="namespace")
    return named[0] if named else None


def _check_origin(request: Request) -> None:
    """Refuse a call that a browser sends for a page of another origin, whatever credentials it has.

    Raises:
        NotPermitted: ``foreign_origin``.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
        raise NotPermitted("foreign_origin", "a page of another origin may not call the Model Context Protocol")
