"""The service, the namespace and the ledger of a request, as dependencies."""

from typing import Annotated, TypeAlias

from fastapi import Depends, Query, Request

from ledger.application.handle import NamespaceHandle
from ledger.memory import MemoryLedger
from ledger.server.access.callers import caller
from ledger.server.service import Service, service_of

ServiceOf: TypeAlias = Annotated[Service, Depends(service_of)]


async def _handle(request: Request, namespace: Annotated[str | None, Query()] = None) -> NamespaceHandle:
    known, service = await caller(request), await service_of(request)
    return service.handle(known.namespace(namespace), known)


#: The handle of the namespace that a request names in its query, for its caller.
HandleOf: TypeAlias = Annotated[NamespaceHandle, Depends(_handle)]


async def _ledger(handle: HandleOf) -> MemoryLedger:
    return MemoryLedger(handle)


#: The ledger of that namespace.
LedgerOf: TypeAlias = Annotated[MemoryLedger, Depends(_ledger)]
