"""A ledger on a real database, and a model server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.model_endpoint import Endpoint, serving


@pytest.fixture
async def own_ledger(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on PostgreSQL, of the test's own loop."""
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as opened:
        yield opened


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
