"""A process of its own that adds six entries and then waits for its model; the tests kill it.

Arguments: database URL, namespace, URL of the endpoint.
"""

import asyncio
import sys

from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore, Target
from tests.support.model_endpoint import Endpoint
from tests.support.model_scene import SMALL, model_at, talk


async def work(url: str, namespace: str, endpoint: str) -> None:
    store = await PostgresStore.open(Target(url, embedded=True))
    async with (
        model_at(Endpoint(endpoint)) as model,
        MemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=model) as ledger,
    ):
        await talk(ledger)
        await ledger.settle()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
