"""A server to be ill-treated, and databases on it."""

from collections.abc import Iterator

import pytest

from tests.support.databases import embedded, server_folder
from tests.support.killable_server import KillableServer


@pytest.fixture(scope="session")
def killable() -> Iterator[KillableServer]:
    """A server of these tests' own."""
    with server_folder() as folder, embedded(folder) as server:
        yield KillableServer(server, folder)


@pytest.fixture
def database(killable: KillableServer) -> Iterator[str]:
    """A migrated database on the killable server."""
    killable.start()
    with killable.server.fresh() as name:
        yield name
        killable.start()
