"""The configurations that the suite runs over."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.routable_sql import watched

#: Name of a configuration → fixtures of its server and database, and whether appends share commits.
CONFIGURATIONS = {
    "postgres_18": ("server", "shared_database", True),
    "postgres_18_alone": ("server", "shared_database", False),
    "postgres_15": ("server_15", "shared_database_15", True),
    "postgres_15_alone": ("server_15", "shared_database_15", False),
}


@pytest.fixture(scope="session")
def shared_database_15(server_15: Server) -> Iterator[str]:
    """One migrated database on the oldest PostgreSQL."""
    with server_15.fresh() as name:
        yield name


#: The first and the one in memory are for everybody; what two others say each half of is left to the slow run.
MARKS = {
    "postgres_18": [],
    "postgres_18_alone": [pytest.mark.full],
    "postgres_15": [pytest.mark.full],
    "postgres_15_alone": [pytest.mark.slow],
}
PARAMS = [pytest.param(name, marks=[pytest.mark.postgres, *marks]) for name, marks in MARKS.items()]


@pytest.fixture(params=["in_memory", *PARAMS])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Each store in turn, in each of its configurations."""
    if request.param == "in_memory":
        yield InMemoryStore()
        return
    server, database, group_commit = CONFIGURATIONS[request.param]
    running: Server = request.getfixturevalue(server)
    target = running.target(request.getfixturevalue(database))
    opened = await PostgresStore.open(target, group_commit=group_commit)
    yield opened
    await opened.close()


@pytest.fixture
def stream(namespace: str) -> Stream:
    """A session that nobody has written to."""
    return Stream.of(namespace, "session-1", "user-1")


@pytest.fixture
def other(namespace: str) -> Stream:
    """Another session of the same namespace."""
    return Stream.of(namespace, "session-2")


@pytest.fixture(autouse=True)
def _statements_can_be_routed() -> Iterator[None]:
    """Let a test fail that sends a statement for which nobody could tell the server of its namespace (trust D-14)."""
    with watched():
        yield
