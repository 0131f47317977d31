"""The ledger of a request, as a dependency."""

from collections.abc import AsyncIterator
from typing import Annotated, TypeAlias

from fastapi import Depends, Query, Request

from ledger.memory import MemoryLedger
from ledger.server.callers import caller
from ledger.server.service import Service, service_of

ServiceOf: TypeAlias = Annotated[Service, Depends(service_of)]


async def _ledger(request: Request, namespace: Annotated[str | None, Query()] = None) -> AsyncIterator[MemoryLedger]:
    known, service = await caller(request), await service_of(request)
    async with service.spaces.lend(known.namespace(namespace), known.actor) as ledger:
        yield ledger


#: The ledger of the namespace that a request names in its query; open until the answer was sent, streams included.
LedgerOf: TypeAlias = Annotated[MemoryLedger, Depends(_ledger)]
