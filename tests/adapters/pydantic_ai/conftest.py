"""A ledger on a real database."""

from collections.abc import AsyncIterator

import pytest

from ledger.adapters.pydantic_ai import LedgerHistory
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore


@pytest.fixture
async def own_ledger(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on PostgreSQL, of the test's own loop; its config would compact."""
    config = {"compactions": [{"type": "token_threshold", "max_entries": 2}]}
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, config=config) as opened:
        yield opened


@pytest.fixture
def history(own_ledger: MemoryLedger) -> LedgerHistory:
    """A history on PostgreSQL."""
    return LedgerHistory(ledger=own_ledger)
