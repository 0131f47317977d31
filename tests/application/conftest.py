"""A ledger on each store in turn, and one whose sessions are small enough to compact."""

from collections.abc import AsyncIterator

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore

SMALL = {"maxEntries": 5, "recentWindow": 2, "minEntriesToCompress": 2}


@pytest.fixture
async def anywhere(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger in memory, and one on PostgreSQL."""
    async with MemoryLedger.open(namespace=namespace, store=store) as opened:
        yield opened


@pytest.fixture
async def small(namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger in memory whose sixth entry sends the first four into a summary."""
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=SMALL) as opened:
        yield opened


async def talk(ledger: MemoryLedger, count: int, *, session: str = "s", first: int = 1) -> None:
    """Add user messages of 10 tokens each, and wait for what they set off."""
    for number in range(first, first + count):
        await ledger.add_user_message(session, f"message {number}", tokens=10)
    await ledger.settle()


async def contents(ledger: MemoryLedger, session: str = "s") -> list[str]:
    """Return the texts in the window, oldest first."""
    return [entry.content for entry in await ledger.get_active_entries(session)]
