"""The SDK's tests of its saver on PostgreSQL, with ours in its place. Source: adapters AD-15, LG-14."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.sdists import sdist
from tests.support.upstream_tests import deselected, run_upstream

HERE: Final = Path(__file__).parent
FILES: Final = ("test_delta_pagination.py", "test_delta_plain_value_seed.py", "test_prune.py")


@pytest.fixture(scope="module")
def sources(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """The folders of the source of the saver, which is not installed, and of the conformance suite that it uses."""
    cache = request.config.cache.mkdir("sdists")
    pinned = ("langgraph-checkpoint-postgres", "3.2.0"), ("langgraph-checkpoint-conformance", "0.0.2")
    return sdist(*pinned[0], cache), sdist(*pinned[1], cache)


def run(sources: tuple[Path, Path], plugin: str, url: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin* on the database at *url*; return the counts and what was printed."""
    options = ["-o", "addopts=", "-o", "asyncio_mode=auto", "--noconftest", f"--ledger-url={url}"]
    options += [f"--deselect={name}" for name in deselected(HERE)]
    return run_upstream(sources[0], plugin, *options, *(f"tests/{name}" for name in FILES), path=(*sources, HERE))


@pytest.mark.postgres
@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_saver__LG_14(sources: tuple[Path, Path], url: str) -> None:
    counts, printed = run(sources, "upstream_saver", url)
    print(counts)
    assert counts["failed"] + counts["error"] == 0, printed
    assert counts["passed"] > 60, printed


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_saver_that_loses_writes(sources: tuple[Path, Path], url: str) -> None:
    """The control."""
    counts, printed = run(sources, "upstream_saver_losing", url)
    assert counts["failed"] > 30, printed
    assert counts["error"] == 0, printed
