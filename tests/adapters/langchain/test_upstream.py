"""The SDK's own tests of chat histories, with ours in the place of its own. Source: adapters AD-15, LC-1."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.support.sdists import sdist

HERE: Final = Path(__file__).parent
FILES: Final = ("chat_history/test_chat_history.py", "runnables/test_history.py")


def run(source: Path, plugin: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin*; return the counts and what was printed."""
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin),
            *("--noconftest", "-o", "addopts="),  # they ask for packages that no history has to do with
            *(f"tests/unit_tests/{name}" for name in FILES),
        ],
        cwd=source,
        env={"PYTHONPATH": f"{source}:{HERE}:{HERE.parents[2]}", "PATH": "/usr/bin:/bin", "HOME": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    return counts, done.stdout[-4_000:] + done.stderr[-4_000:]


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest) -> Path:
    """The folder of the source of the release that is installed."""
    return sdist("langchain-core", version("langchain-core"), request.config.cache.mkdir("sdists"))


@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_history__LC_1(source: Path) -> None:
    counts, printed = run(source, "upstream")
    print(counts)
    assert counts.get("failed", 0) + counts.get("error", 0) == 0, printed
    assert counts["passed"] > 25, printed


@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_history_that_loses_messages(source: Path) -> None:
    """The control."""
    counts, printed = run(source, "upstream_losing")
    assert counts.get("failed", 0) > 5, printed
