"""The SDK's own tests of stores, with ours in the place of its own. Source: adapters AD-15, LG-15."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.support.sdists import sdist

HERE: Final = Path(__file__).parent


def deselected() -> dict[str, str]:
    """Return the tests that say nothing of a store such as ours, each with the reason."""
    lines = (HERE / "deselected.txt").read_text().splitlines()
    return {name.strip(): reason.strip() for name, _, reason in (line.partition("#") for line in lines)}


def run(source: Path, plugin: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin*; return the counts and what was printed."""
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin),
            *("-o", "addopts=", "-o", "asyncio_mode=auto"),
            *(f"--deselect=tests/test_store.py::{name}" for name in deselected()),
            "tests/test_store.py",
        ],
        cwd=source,
        env={"PYTHONPATH": f"{source}:{HERE}:{HERE.parents[2]}", "PATH": "/usr/bin:/bin", "HOME": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|deselected)", done.stdout)}
    return counts, done.stdout[-4_000:] + done.stderr[-4_000:]


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest) -> Path:
    """The folder of the source of the release that is installed."""
    return sdist("langgraph-checkpoint", version("langgraph-checkpoint"), request.config.cache.mkdir("sdists"))


@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_store__LG_15(source: Path) -> None:
    counts, printed = run(source, "upstream")
    print(counts)
    assert counts.get("failed", 0) + counts.get("error", 0) == 0, printed
    assert counts["passed"] > 30, printed


@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_store_that_loses_items(source: Path) -> None:
    """The control."""
    counts, printed = run(source, "upstream_losing")
    assert counts.get("failed", 0) > 5, printed
