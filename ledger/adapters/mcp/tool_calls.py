"""The ledger of a call, and what its caller may do."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from mcp.server.mcpserver import Context

from ledger.application.handle import NamespaceHandle
from ledger.memory import MemoryLedger

#: Not ``Context[Any, Any]``: releases of the SDK before 2.3 make a new one of it, which knows no request.
CallContext: TypeAlias = Context


@dataclass(frozen=True, slots=True)
class LedgerOfCall:
    """A ledger with the rights of who calls."""

    ledger: MemoryLedger
    handle: NamespaceHandle

    @classmethod
    def of(cls, ledger: MemoryLedger) -> "LedgerOfCall":
        """Return *ledger* with the rights that it was opened with."""
        return cls(ledger, ledger._handle)  # noqa: SLF001 - the facade hides it from users only

    def check_roles(self, entries: Sequence[dict[str, Any]]) -> None:
        """Refuse entries of the system from a caller without that right.

        Raises:
            NotPermitted: ``role_not_allowed``.
        """
        if any(entry.get("role") == "system" or entry.get("kind") == "system_instruction" for entry in entries):
            self.handle.rights.check_system()


class LedgerSource(Protocol):
    """Where the calls of one server find their ledger."""

    async def reader(self, context: CallContext) -> LedgerOfCall:
        """Return the ledger for a call that reads.

        Raises:
            NotAuthenticated, NotPermitted, Unavailable: the caller may not read.
        """
        ...

    async def writer(self, context: CallContext) -> LedgerOfCall:
        """Return the ledger for a call that writes.

        Raises:
            NotAuthenticated, NotPermitted, Unavailable: the caller may not write.
        """
        ...

    def opened(self) -> AbstractAsyncContextManager[MemoryLedger | None]:
        """Open what all calls share; the ledger, if there is one for all of them."""
        ...


class OneLedger:
    """One ledger for all calls: the one that *opening* yields when the server starts."""

    def __init__(self, opening: "Opening") -> None:
        self._opening = opening

    async def reader(self, context: CallContext) -> LedgerOfCall:
        """See `LedgerSource.reader`; whoever reaches the server may read."""
        return LedgerOfCall.of(cast("MemoryLedger", context.request_context.lifespan_context))

    async def writer(self, context: CallContext) -> LedgerOfCall:
        """See `LedgerSource.writer`; whoever reaches the server may write."""
        return await self.reader(context)

    def opened(self) -> AbstractAsyncContextManager[MemoryLedger | None]:
        """See `LedgerSource.opened`."""
        return self._opening()


class Opening(Protocol):
    """Opens a ledger, and closes it at the end of the block."""

    def __call__(self) -> AbstractAsyncContextManager[MemoryLedger]:
        """Return the block."""
        ...
