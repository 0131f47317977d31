"""The ledger of a request, as a dependency."""

from collections.abc import AsyncIterator
from typing import Annotated, TypeAlias

from fastapi import Depends, Query

from ledger.memory import MemoryLedger
from ledger.server.callers import CallerOf
from ledger.server.service import Service, service_of

ServiceOf: TypeAlias = Annotated[Service, Depends(service_of)]


async def _ledger(
    caller: CallerOf, service: ServiceOf, namespace: Annotated[str | None, Query()] = None
) -> AsyncIterator[MemoryLedger]:
    async with service.spaces.lend(caller.namespace(namespace), caller.actor) as ledger:
        yield ledger


#: The ledger of the namespace that a request names in its query; open until the answer was sent, streams included.
LedgerOf: TypeAlias = Annotated[MemoryLedger, Depends(_ledger)]
