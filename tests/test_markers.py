"""Which tests need a database is marked by what they use, so that `make test-quick` needs none."""

from pathlib import Path

import pytest

from ledger.stores.embedded import EmbeddedServer
from tests.support.databases import Server


def test_a_server_that_an_unmarked_test_starts_is_refused(tmp_path: Path) -> None:
    """Negative control: what `make test-quick` runs starts none."""
    with pytest.raises(AssertionError, match=r"mark it with pytest\.mark\.postgres"):
        EmbeddedServer(tmp_path).start()


def test_a_test_that_uses_the_server_is_marked(request: pytest.FixtureRequest, server: Server) -> None:
    assert request.node.get_closest_marker("postgres"), server
