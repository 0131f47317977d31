"""The tools of a server, and how their faults reach a client. Source: adapters MC-2, MC-3."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from mcp.server import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from ledger.errors import EntryNotFound, LedgerError, SessionNotFound
from ledger.events.field_messages import refused_value, unknown_field
from ledger.indexes.stored_projections.staleness import collected

P = ParamSpec("P")
R = TypeVar("R")

_MOST_FAULTS: Final = 3
#: Instead of commands and functions of the library, which errors name.
_HINTS: Final[dict[type[LedgerError], str]] = {
    SessionNotFound: "list_sessions lists those that do",
    EntryNotFound: "get_history shows those that are",
}


class LedgerServer(MCPServer[Any]):
    """A server whose errors are ``code: what to do``, without what was sent."""

    @property
    def protocol(self) -> Server[Any]:
        """The server of the SDK that speaks the protocol, for a transport of one's own."""
        return self._lowlevel_server

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; see `MCPServer.call_tool`.

        Raises:
            ToolError: with the code of a `LedgerError`, ``unknown_tool``, ``unknown_field`` or ``bad_arguments``.
            UnexpectedToolError: anything else; its cause goes to the log, and nothing of it to the client.
        """
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            known = ", ".join(sorted(each.name for each in self._tool_manager.list_tools()))
            raise ToolError(f"unknown_tool: this server has {known}")
        taken = tool.parameters.get("properties", {})
        unknown = sorted(given for given in arguments if given not in taken)
        if unknown:
            field = unknown[0][:80]
            raise ToolError(f"unknown_field: {field!a}: {unknown_field(field, taken, where=f'of {name}')}")
        try:
            with collected() as notices:
                result = await super().call_tool(name, arguments, context)
            return _with_age(result, notices)
        except UnexpectedToolError as fault:
            message = f"internal_error: {name} failed; the log of the server says where. It may have been carried out."
            raise UnexpectedToolError(message) from fault.__cause__
        except ToolError as fault:
            raise _plain(fault) from fault.__cause__


def _with_age(result: CallToolResult | InputRequiredResult, notices: list[str]) -> CallToolResult | InputRequiredResult:
    """Return *result* with the *notices* of the age of an index, as more text."""
    if not notices or not isinstance(result, CallToolResult):
        return result
    return result.model_copy(
        update={"content": [*result.content, *(TextContent(type="text", text=text) for text in notices)]}
    )


class ToolSet:
    """Adds functions as tools to *server*; with *read_only*, not those that write."""

    def __init__(self, server: MCPServer[Any], *, read_only: bool) -> None:
        self._server = server
        self._read_only = read_only

    def add(
        self, title: str, annotations: ToolAnnotations
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
        """Return a decorator that adds a function as a tool, described by its docstring."""

        def added(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
            if annotations.read_only_hint or not self._read_only:
                self._server.add_tool(
                    _with_codes(function),
                    title=title,
                    description="\n".join(line.strip() for line in (function.__doc__ or "").strip().splitlines()),
                    annotations=annotations,
                    structured_output=True,
                )
            return function

        return added


def _with_codes(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Return *function* with our errors as `ToolError`, which clients are shown."""

    @wraps(function)
    async def called(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return await function(*arguments, **named)
        except LedgerError as fault:
            raise ToolError(words_of(fault)) from fault

    return called


def words_of(fault: LedgerError) -> str:
    """Return the code of *fault* and what to do, with the tools that a client has."""
    text = str(fault) or "it failed; try again"
    for kind, hint in _HINTS.items():
        if isinstance(fault, kind):
            text = f"{text.rpartition('; ')[0]}; {hint}"
    return f"{fault.code}: {text}"


def _plain(fault: ToolError) -> ToolError:
    """Return *fault* without the SDK's words around it, and without the values that were refused."""
    match fault.__cause__:
        case ToolError() as own:
            return own
        case ValidationError() as refused:
            faults = refused.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
            texts = [f"{'.'.join(map(str, each['loc']))[:200]}: {refused_value(each)}" for each in faults]
            return ToolError(f"bad_arguments: {'; '.join(texts)}")
        case _:
            return fault
