"""What agents of several SDKs need: a database of the application, and a model server."""

from collections.abc import Iterator

import pytest

from tests.support.databases import Server
from tests.support.model_endpoint import Endpoint, serving


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
