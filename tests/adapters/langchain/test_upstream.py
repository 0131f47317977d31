"""The SDK's own tests of chat histories, with ours in the place of its own. Source: adapters AD-15, LC-1."""

from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.support.sdists import sdist
from tests.support.upstream_tests import run_upstream

HERE: Final = Path(__file__).parent
FILES: Final = ("chat_history/test_chat_history.py", "runnables/test_history.py")


def run(source: Path, plugin: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin*; return the counts and what was printed."""
    options = ("--noconftest", "-o", "addopts=")  # they ask for packages that no history has to do with
    return run_upstream(source, plugin, *options, *(f"tests/unit_tests/{name}" for name in FILES), path=(source, HERE))


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest) -> Path:
    """The folder of the source of the release that is installed."""
    return sdist("langchain-core", version("langchain-core"), request.config.cache.mkdir("sdists"))


@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_history__LC_1(source: Path) -> None:
    counts, printed = run(source, "upstream")
    print(counts)
    assert counts["failed"] + counts["error"] == 0, printed
    assert counts["passed"] > 25, printed


@pytest.mark.slow
@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_history_that_loses_messages(source: Path) -> None:
    """The control."""
    counts, printed = run(source, "upstream_losing")
    assert counts["failed"] > 5, printed
