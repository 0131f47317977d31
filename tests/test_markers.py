"""Which tests need a database is marked by what they use, so that `make test-quick` needs none."""

from pathlib import Path

import pytest

from ledger.stores.embedded.server import EmbeddedServer
from tests.support.databases import Server
from tests.support.scheduling import scope_of


def test_a_server_that_an_unmarked_test_starts_is_refused(tmp_path: Path) -> None:
    """Negative control: what `make test-quick` runs starts none."""
    with pytest.raises(AssertionError, match=r"mark it with pytest\.mark\.postgres"):
        EmbeddedServer(tmp_path).start()


def test_a_test_that_uses_the_server_is_marked(request: pytest.FixtureRequest, server: Server) -> None:
    assert request.node.get_closest_marker("postgres"), server


def test_files_of_one_group_are_for_one_worker() -> None:
    killed, cut = scope_of("tests/faults/test_killed_server.py"), scope_of("tests/server/compat/test_store_cut.py")
    assert killed == cut == "group killed servers"
    assert scope_of("tests/test_markers.py") == "tests/test_markers.py"
