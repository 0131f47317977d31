"""The SDK's own tests of session services, with ours in the place of one of its own. Source: adapters GA-2, AD-15.

Its source distribution has no tests. ADK_CHECKOUT names a checkout of its repository at the tag of the release that
is installed; without one these tests are skipped, and `test_adk_sessions` asks for the same behaviour.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)
pytestmark = [pytest.mark.adapters_upstream, pytest.mark.timeout(300)]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
FILES: Final = ("sessions/test_session_service.py", "sessions/test_get_user_state.py")
#: Those of one service of the SDK, and of no other.
DESELECTED: Final = "not test_sqlite_session_service and not test_database_session_service"
#: Tests of runs, resumed and rewound runs, and of compaction, which use the SDK's service in memory.
RUNS: Final = ("runners", "test_runners.py", "apps", "agents/test_resumable_llm_agent.py")


@pytest.fixture(scope="module")
def checkout() -> Path:
    """The checkout of the SDK's repository."""
    named = os.environ.get("ADK_CHECKOUT")
    if not named:
        pytest.skip("set ADK_CHECKOUT to a checkout of google/adk-python at the tag of the installed release")
    return Path(named)


def run(checkout: Path, files: Sequence[str], *options: str) -> tuple[dict[str, int], str]:
    """Run those of the SDK's *files* of tests that are there; return the counts and what was printed."""
    folder = Path("tests/unittests")
    found = [str(folder / name) for name in files if (checkout / folder / name).exists()]
    assert found, f"{checkout} has none of {', '.join(files)}"
    done = subprocess.run(
        [*(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider"), *options, *found],
        cwd=checkout,
        env={"PYTHONPATH": f"{HERE}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|xfailed)", done.stdout)}
    return counts, done.stdout + done.stderr


def failing(printed: str) -> set[str]:
    """Return the names of the tests that failed."""
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE))


def test_the_tests_of_the_sdk_pass_with_our_service__GA_2(checkout: Path) -> None:
    counts, printed = run(checkout, FILES, "-p", "upstream", "-k", DESELECTED)
    print(counts)
    assert counts.keys() == {"passed"}, printed
    assert counts["passed"] > 20, printed


def test_the_tests_of_the_sdk_reject_a_service_that_loses_state(checkout: Path) -> None:
    """The control of the test above."""
    counts, printed = run(checkout, FILES, "-p", "upstream_losing", "-k", DESELECTED)
    assert counts.get("failed", 0) > 3, printed


def test_the_tests_of_runs_fail_no_more_with_our_service__GA_2(checkout: Path) -> None:
    """Of a release that is not the checkout's some fail with the SDK's own service, too."""
    own, printed_own = run(checkout, RUNS)
    ours, printed = run(checkout, RUNS, "-p", "upstream_runners")
    print(own, ours)
    assert failing(printed) - failing(printed_own) == set(), printed
    assert ours["passed"] >= own["passed"] > 100
    assert re.search(r"services made: [1-9]\d", printed), "our service was not used"
