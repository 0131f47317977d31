"""Fixtures by concern: servers and databases, stores, ledgers, a clock that can be set."""

import gc
import os
import secrets
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support import examples
from tests.support.databases import Server, default_server, postgres_15, server_folder

examples.load_profile()

DATA = Path(__file__).parents[2] / "shared" / "data"

#: Fixtures that start a server: who uses one needs PostgreSQL.
STARTING = {"server", "server_15", "killable", "new_data"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server, so that `make test-quick` leaves it out."""
    for item in items:
        if not STARTING.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.postgres)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test that starts a server without saying so fail: `make test-quick` would start it, too."""
    if item.get_closest_marker("postgres"):
        return (yield)

    def start(server: EmbeddedServer, **options: object) -> None:
        raise AssertionError(f"{item.nodeid} starts a server: mark it with pytest.mark.postgres")

    with patch.object(EmbeddedServer, "start", start):
        return (yield)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give each worker whole files, and groups of files to one worker."""
    from tests.support.scheduling import FilesAndGroups  # noqa: PLC0415 - only where xdist runs

    return FilesAndGroups(config, log)


def pytest_collection() -> None:
    """Look for no garbage while thousands of tests are made that live to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let no search for garbage look again at those tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Collect once what the tests left; pytest would look at it ten times."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own environment out of the tests."""
    for name in [name for name in os.environ if name.startswith("MEMORY_LEDGER_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server of this test process."""
    with server_folder() as folder, default_server(folder) as running:
        yield running


@pytest.fixture(scope="session")
def server_15() -> Iterator[Server]:
    """A PostgreSQL 15, the oldest we support."""
    with server_folder() as folder, postgres_15(folder) as running:
        yield running


@pytest.fixture(scope="session")
def shared_database(server: Server) -> Iterator[str]:
    """One migrated database for all tests that keep to namespaces of their own."""
    with server.fresh() as name:
        yield name


@pytest.fixture
def fresh_database(server: Server) -> Iterator[str]:
    """A migrated database that no other test touches; dear, so only for global order and attacks."""
    with server.fresh() as name:
        yield name


@pytest.fixture(params=["in_memory", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Each store in turn."""
    if request.param == "in_memory":
        yield InMemoryStore()
        return
    server: Server = request.getfixturevalue("server")
    opened = await PostgresStore.open(server.target(request.getfixturevalue("shared_database")))
    yield opened
    await opened.close()


@pytest.fixture
async def postgres_store(server: Server, shared_database: str) -> AsyncIterator[PostgresStore]:
    """The PostgreSQL store on the shared database."""
    opened = await PostgresStore.open(server.target(shared_database))
    yield opened
    await opened.close()


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A namespace of this test's own."""
    return f"{request.node.name[:60].split('[')[0]}-{secrets.token_hex(4)}"


@pytest.fixture
async def ledger(namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger in memory."""
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore()) as opened:
        yield opened


@pytest.fixture
def data() -> Path:
    """The folder of real transcripts beside the project; without it the test is skipped, and says so."""
    if not DATA.exists():
        pytest.skip(f"the transcripts are not beside the project ({DATA.parent.name}/{DATA.name} is absent)")
    return DATA


@pytest.fixture
def seed() -> int:
    """A seed for a random test, shown if it fails; TEST_SEED repeats a run."""
    chosen = int(os.environ.get("TEST_SEED") or secrets.randbits(32))
    print(f"TEST_SEED={chosen}")
    return chosen


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    """A stack of things to undo."""
    with ExitStack() as stack:
        yield stack
