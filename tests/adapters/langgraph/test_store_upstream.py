"""The SDK's own tests of stores, with ours in the place of its own. Source: adapters AD-15, LG-15."""

from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.support.sdists import sdist
from tests.support.upstream_tests import deselected, run_upstream

HERE: Final = Path(__file__).parent


def run(source: Path, plugin: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin*; return the counts and what was printed."""
    options = ["-o", "addopts=", "-o", "asyncio_mode=auto"]
    options += [f"--deselect={name}" for name in deselected(HERE)]
    return run_upstream(source, plugin, *options, "tests/test_store.py", path=(source, HERE))


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest) -> Path:
    """The folder of the source of the release that is installed."""
    return sdist("langgraph-checkpoint", version("langgraph-checkpoint"), request.config.cache.mkdir("sdists"))


@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_store__LG_15(source: Path) -> None:
    counts, printed = run(source, "upstream")
    print(counts)
    assert counts["failed"] + counts["error"] == 0, printed
    assert counts["passed"] > 30, printed


@pytest.mark.slow
@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_store_that_loses_items(source: Path) -> None:
    """The control."""
    counts, printed = run(source, "upstream_losing")
    assert counts["failed"] > 5, printed
