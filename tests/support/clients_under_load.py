"""Clients of a whole ledger that record each answer and how long it took. Source: trust P-13."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

from ledger.errors import Unavailable
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.patience import within
from tests.support.whole_log import assert_whole

CONFIG = {"profile": "none", "tokenizer": "approximate"}
LONGEST_S = 10.0


class Client:
    """Adds batches to one session and reads it, until cancelled; of errors it accepts only `Unavailable`."""

    def __init__(self, ledger: MemoryLedger, session: str, name: str) -> None:
        self._ledger = ledger
        self._name = name
        self._chance = random.Random(name)
        self.session = session
        self.batches: list[list[str]] = []
        self.acknowledged: list[list[str]] = []
        self.unavailable = 0
        self.longest_s = 0.0

    async def run(self) -> None:
        """Add and read in turns."""
        for number in count():
            started = time.monotonic()
            try:
                await self._add(number) if self._chance.random() < 0.7 else await self._read()
            except Unavailable:
                self.unavailable += 1
                await asyncio.sleep(0.02)
            self.longest_s = max(self.longest_s, time.monotonic() - started)
            await asyncio.sleep(0)

    async def _add(self, number: int) -> None:
        batch = [f"{self._name} {number} {place}" for place in range(self._chance.randint(1, 3))]
        self.batches.append(batch)
        await self._ledger.add_entries(self.session, [{"role": "user", "content": text} for text in batch])
        self.acknowledged.append(batch)

    async def _read(self) -> None:
        await self._ledger.get_context(self.session)


@asynccontextmanager
async def at_work(
    store: Store, namespace: str, seed: int, *, number: int = 4, longest_s: float = LONGEST_S
) -> AsyncIterator[list[Client]]:
    """Let clients work until the context ends, in two sessions; check that none had to wait too long."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as ledger:
        clients = [Client(ledger, f"session-{at % 2}", f"{seed}-{at}") for at in range(number)]
        tasks = [asyncio.create_task(client.run()) for client in clients]
        try:
            yield clients
        finally:
            for task in tasks:
                task.cancel()
            endings = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(ending, asyncio.CancelledError) for ending in endings), endings
    slowest = max(client.longest_s for client in clients)
    assert slowest < within(longest_s), f"a client had to wait {slowest:.1f} s"


async def until_served(clients: Sequence[Client], *, within_s: float) -> None:
    """Wait until each client got another batch acknowledged.

    Raises:
        AssertionError: one was not *within_s* seconds.
    """
    before = [len(client.acknowledged) for client in clients]
    deadline = time.monotonic() + within(within_s)
    while any(len(client.acknowledged) == answers for client, answers in zip(clients, before, strict=True)):
        assert time.monotonic() < deadline, f"somebody is not served {within_s} s after the database is back"
        await asyncio.sleep(0.01)


async def assert_nothing_lost(store: Store, namespace: str, clients: Sequence[Client]) -> None:
    """Assert that all acknowledged batches are stored, in order, none twice and none in part."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as ledger:
        for session in {client.session for client in clients}:
            stored = [entry.content for entry in await ledger.get_active_entries(session)]
            assert set(Counter(stored).values()) <= {1}, "an entry is stored twice"
            for client in (client for client in clients if client.session == session):
                remaining = [batch for batch in client.batches if set(batch) & set(stored)]
                own = [text for text in stored if text.startswith(f"{client.batches[0][0].split(' ')[0]} ")]
                assert own == [text for batch in remaining for text in batch], (
                    "a batch is half-written, or out of order"
                )
                assert all(batch in remaining for batch in client.acknowledged), (
                    "an entry that was acknowledged is lost"
                )
    await assert_whole(store, namespace, [])
