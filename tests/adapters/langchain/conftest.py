"""A ledger on a real database."""

from collections.abc import AsyncIterator

import pytest

from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore


@pytest.fixture
async def own_ledger(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on PostgreSQL, of the test's own loop; its config keeps four entries and summarizes the others."""
    config = {"compactions": [{"type": "token_threshold", "max_entries": 6, "recent_window": 4}]}
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, config=config) as opened:
        yield opened
