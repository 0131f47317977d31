"""Logins and databases for tests of what PostgreSQL itself guards."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore, Target
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


@asynccontextmanager
async def opened(target: Target) -> AsyncIterator[PostgresStore]:
    """Yield the store of *target*, and close it."""
    store = await PostgresStore.open(target)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(scope="session")
def app_login(server: Server) -> Iterator[str]:
    """A plain login that is a member of the application role, and nothing more."""
    with server.login("ledger_app") as name:
        yield name


@pytest.fixture(scope="module")
def quiet_database(server: Server) -> Iterator[str]:
    """A migrated database for one module, whose tests must leave it as it is."""
    with server.fresh() as name:
        yield name


@pytest.fixture
async def fresh_store(server: Server, fresh_database: str) -> AsyncIterator[PostgresStore]:
    """A store on a database of its own."""
    async with opened(server.target(fresh_database)) as store:
        yield store


@pytest.fixture
def stream(namespace: str) -> Stream:
    """A session that nobody has written to."""
    return Stream.of(namespace, f"session-{secrets.token_hex(2)}", "user-1")
