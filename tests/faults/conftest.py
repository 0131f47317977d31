"""A server to be ill-treated, and databases on it."""

from collections.abc import Iterator

import pytest

from tests.support.databases import embedded, server_folder
from tests.support.victim import Victim


@pytest.fixture(scope="session")
def victim() -> Iterator[Victim]:
    """A server of these tests' own."""
    with server_folder() as folder, embedded(folder) as server:
        yield Victim(server, folder)


@pytest.fixture
def database(victim: Victim) -> Iterator[str]:
    """A migrated database on the victim."""
    victim.start()
    with victim.server.fresh() as name:
        yield name
        victim.start()
