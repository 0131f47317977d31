"""What a test uses says who runs it: `make test-quick` needs no database, `make test-all` has all that CI has."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ledger.stores.embedded.server import EmbeddedServer
from tests.conftest import IN_TURN, STORES, is_for_the_other_store
from tests.support.databases import Server
from tests.support.scheduling import scope_of


def test_a_server_that_an_unmarked_test_starts_is_refused(tmp_path: Path) -> None:
    """Negative control: what `make test-quick` runs starts none."""
    with pytest.raises(AssertionError, match=r"mark it with pytest\.mark\.postgres"):
        EmbeddedServer(tmp_path).start()


def test_a_test_that_uses_the_server_is_marked(request: pytest.FixtureRequest, server: Server) -> None:
    assert request.node.get_closest_marker("postgres"), server


def test_a_test_of_the_oldest_server_is_left_to_test_all(request: pytest.FixtureRequest, server_15: Server) -> None:
    assert request.node.get_closest_marker("full"), server_15


@pytest.mark.sample(3)
@pytest.mark.parametrize("number", range(5))
def test_of_a_sampled_test_each_nth_case_is_for_everybody(request: pytest.FixtureRequest, number: int) -> None:
    assert (request.node.get_closest_marker("full") is None) is (number % 3 == 0)


def test_each_case_is_for_everybody_on_one_store_and_both_stores_are_tried() -> None:
    cases: dict[Path, dict[str, int]] = {}
    folder = min(IN_TURN)

    def left(case: str, store: str, folder: str = folder) -> bool:
        file, callspec = Path("tests", folder, "test_a.py"), SimpleNamespace(params={"store": store})
        item = SimpleNamespace(path=file, callspec=callspec, nodeid=f"{file}::test[{store}-{case}]")
        return is_for_the_other_store(item, cases)

    assert [[left(case, store) for store in STORES] for case in "ab"] == [[False, True], [True, False]]
    assert not any(left("a", store, "conformance") for store in STORES)
    assert not left("a", "another")


def test_files_of_one_group_are_for_one_worker() -> None:
    killed, cut = scope_of("tests/faults/test_killed_server.py"), scope_of("tests/server/compat/test_store_cut.py")
    assert killed == cut == "group killed servers"
    assert scope_of("tests/test_markers.py") == "tests/test_markers.py"
