"""Where the Model Context Protocol is served: ``/mcp``, if its SDK is installed. Source: adapters MC-6."""

from importlib import import_module
from typing import Final

import msgspec
from starlette.routing import Route

from ledger.errors import Unavailable
from ledger.server.service_settings import ServiceSettings

MCP_PATH: Final = "/mcp"
#: These tools replay, recompute or read much.
_HEAVY_TOOLS: Final = frozenset({"compare", "restore_session", "verify", "what_if"})


class _CalledTool(msgspec.Struct):
    """The tool that a request calls."""

    name: str = ""


class _AskedMethod(msgspec.Struct):
    """The part of a request that says what is asked."""

    method: str = ""
    params: _CalledTool = msgspec.field(default_factory=_CalledTool)


def calls_heavy_tool(body: bytes) -> bool:
    """Return whether *body*, a request of the protocol, calls a tool that takes much of the processor."""
    try:
        asked = msgspec.json.decode(body, type=_AskedMethod)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False  # the protocol answers what is wrong with it
    return asked.method == "tools/call" and asked.params.name in _HEAVY_TOOLS


def mcp_routes(settings: ServiceSettings) -> list[Route]:
    """Return the route of the protocol; none if it is off, or not installed and not asked for.

    Raises:
        Unavailable: the settings ask for it, and the extra ``mcp`` is not installed.
    """
    if settings.mcp == "off":
        return []
    try:
        import_module("ledger.adapters.mcp")
    except Unavailable:
        if settings.mcp is None:
            return []
        raise
    from ledger.server.mcp_endpoint import McpEndpoint  # noqa: PLC0415 - an extra

    endpoint = McpEndpoint(settings, MCP_PATH, read_only=settings.mcp == "read_only")
    return [Route(MCP_PATH, endpoint, methods=["POST"], name="mcp", include_in_schema=False)]
