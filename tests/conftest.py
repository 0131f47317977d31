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

#: Fixtures of what only `make test-all` tries: the oldest PostgreSQL and a browser.
ELSEWHERE = {"server_15", "browser"}
#: Folders whose cases `make test` tries on one store each, in turn; the suite of `conformance` tries both.
IN_TURN = {"application", "long_term_memory", "stored_projections", "summarizers", "transfer", "verification", "worker"}
STORES = ["postgres", "in_memory"]


@pytest.hookimpl(tryfirst=True)  # before what is not asked for is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server, so that `make test-quick` leaves it out, and what only `make test-all` runs."""
    seen: dict[str, int] = {}
    cases: dict[Path, dict[str, int]] = {}
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        if STARTING & used:
            item.add_marker(pytest.mark.postgres)
        if ELSEWHERE & used:
            item.add_marker(pytest.mark.full)
        if sample := item.get_closest_marker("sample"):
            test = item.nodeid.partition("[")[0]
            if seen.setdefault(test, 0) % sample.args[0]:
                item.add_marker(pytest.mark.full)
            seen[test] += 1
        elif is_for_the_other_store(item, cases):
            item.add_marker(pytest.mark.full)


def is_for_the_other_store(item: pytest.Item, cases: dict[Path, dict[str, int]]) -> bool:
    """Tell whether this case of a test is tried on another store; *cases* numbers those of each file."""
    callspec = getattr(item, "callspec", None)
    store = callspec and callspec.params.get("store")
    if item.path.parent.name not in IN_TURN or store not in STORES:
        return False
    numbers = cases.setdefault(item.path, {})
    return STORES[numbers.setdefault(item.nodeid.replace(store, "store"), len(numbers)) % 2] != store


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
    """Let no search for garbage look at those tests."""
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
