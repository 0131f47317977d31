"""A ledger on a real database, and a model server."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.model_endpoint import Endpoint, serving

if TYPE_CHECKING:
    from ledger.adapters.pydantic_ai import LedgerHistory


@pytest.fixture
async def own_ledger(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on PostgreSQL, of the test's own loop; its config would compact."""
    config = {"compactions": [{"type": "token_threshold", "max_entries": 2}]}
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, config=config) as opened:
        yield opened


@pytest.fixture
def history(own_ledger: MemoryLedger) -> "LedgerHistory":
    """A history on PostgreSQL."""
    from ledger.adapters.pydantic_ai import LedgerHistory  # noqa: PLC0415 - the tests skip without the SDK

    return LedgerHistory(ledger=own_ledger)


@pytest.fixture(scope="session")
def url(server: Server, shared_database: str) -> Iterator[str]:
    """The URL of the shared database for a login of the application."""
    with server.login("ledger_app") as login:
        yield server.url_of(login, shared_database)


@pytest.fixture
def model() -> Iterator[Endpoint]:
    """A model server on loopback."""
    with serving() as endpoint:
        yield endpoint
