"""A process of its own that rebuilds the session index, an event a page, and slowly; the test kills it.

Arguments: database URL, namespace.
"""

import asyncio
import sys
from unittest.mock import patch

from ledger.stores.postgres import PostgresStore, Target
from tests.support.ledgers import ledger_over


async def work(url: str, namespace: str) -> None:
    store = await PostgresStore.open(Target(url, embedded=True))
    ledger = ledger_over(store, namespace=namespace)
    advance = ledger._handle.indexes.sessions.advance

    async def slowly(build: int, *, after: int, limit: int) -> int | None:
        reached = await advance(build, after=after, limit=1)
        print(reached, flush=True)
        await asyncio.sleep(0.05)
        return reached

    with patch.object(ledger._handle.indexes.sessions, "advance", slowly):
        await ledger.rebuild_projections("session_index")


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
