"""The SDK's own tests of session services, with ours in the place of one of its own. Source: adapters GA-2, AD-15.

Its source distribution has no tests. ADK_CHECKOUT names a checkout of its repository at the tag of the release that
is installed; without one these tests are skipped, and `test_adk_sessions` asks for the same behaviour.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)
pytestmark = [pytest.mark.adapters_upstream, pytest.mark.timeout(300)]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
FILES: Final = ("test_session_service.py", "test_get_user_state.py")
#: Those of one service of the SDK, and of no other.
DESELECTED: Final = "not test_sqlite_session_service and not test_database_session_service"


@pytest.fixture(scope="module")
def checkout() -> Path:
    """The checkout of the SDK's repository."""
    named = os.environ.get("ADK_CHECKOUT")
    if not named:
        pytest.skip("set ADK_CHECKOUT to a checkout of google/adk-python at the tag of the installed release")
    return Path(named)


def run(checkout: Path, plugin: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests of session services with *plugin*; return the counts and what was printed."""
    folder = Path("tests/unittests/sessions")
    files = [str(folder / name) for name in FILES if (checkout / folder / name).exists()]
    assert files, f"{checkout} has none of {', '.join(FILES)}"
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin),
            *("-k", DESELECTED),
            *files,
        ],
        cwd=checkout,
        env={"PYTHONPATH": f"{HERE}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|xfailed)", done.stdout)}
    return counts, done.stdout[-4_000:] + done.stderr[-4_000:]


def test_the_tests_of_the_sdk_pass_with_our_service__GA_2(checkout: Path) -> None:
    counts, printed = run(checkout, "upstream")
    print(counts)
    assert counts.keys() == {"passed"}, printed
    assert counts["passed"] > 20, printed


def test_the_tests_of_the_sdk_reject_a_service_that_loses_state(checkout: Path) -> None:
    """The control of the test above."""
    counts, printed = run(checkout, "upstream_losing")
    assert counts.get("failed", 0) > 3, printed
