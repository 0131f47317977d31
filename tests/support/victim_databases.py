"""A server of these tests' own, to be restarted and cut off."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.databases import embedded, server_folder
from tests.support.victim import Victim


@contextmanager
def a_victim() -> Iterator[tuple[Victim, str]]:
    """Yield the server and the name of a migrated database on it."""
    with server_folder() as folder, embedded(folder) as server, server.fresh() as database:
        yield Victim(server, folder), database
