"""A store in memory behind a group commit whose batches take a random time."""

import asyncio
import random
from collections.abc import Sequence

from ledger.errors import LedgerError
from ledger.ports import Appended, AppendRequest
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres.group_commit import GroupCommit


class Grouped(EventStoreDecorator):
    """Appends in batches, and notes the length of each."""

    def __init__(self, store: InMemoryStore, chance: random.Random) -> None:
        super().__init__(store.events)
        self.batches: list[int] = []
        self._chance = chance
        self._group = GroupCommit(self._append_batch)

    async def append(self, request: AppendRequest) -> Appended:
        outcome = await self._group.append(request)
        if isinstance(outcome, LedgerError):
            raise outcome
        return outcome

    async def drain(self) -> None:
        """Wait for the appends in progress, also those whose callers were cancelled."""
        await self._group.drain()

    async def _append_batch(self, requests: Sequence[AppendRequest]) -> list[Appended | LedgerError]:
        self.batches.append(len(requests))
        await self._pause()
        outcomes: list[Appended | LedgerError] = []
        for request in requests:
            try:
                outcomes.append(await self._events.append(request))
            except LedgerError as refused:
                outcomes.append(refused)
        await self._pause()
        return outcomes

    async def _pause(self) -> None:
        for _ in range(1 + self._chance.randrange(11)):  # every commit takes some time
            await asyncio.sleep(0)


def grouped_store(chance: random.Random) -> tuple[InMemoryStore, Grouped]:
    """Return a store in memory, and its events, which take the time that *chance* gives them."""
    store = InMemoryStore()
    store.events = grouped = Grouped(store, chance)
    return store, grouped
