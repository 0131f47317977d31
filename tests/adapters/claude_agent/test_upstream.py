"""The SDK's own tests of sessions, with our store in the place of its own. Source: adapters CL-8, AD-15."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

FILES: Final = (
    "test_session_import.py",
    "test_session_mutations.py",
    "test_session_helpers_store.py",
    "test_session_resume.py",
)
#: Tests that a store cannot pass that is not the SDK's own, and why.
DESELECTED: Final = {
    "test_session_resume.py::TestHappyPath::test_continue_picks_most_recent": "sets times in a dict of its own store",
    "test_session_resume.py::TestHappyPath::test_continue_skips_sidechain_sessions": "the same",
    "test_session_resume.py::TestHappyPath::test_continue_tie_break_is_deterministic": "the same",
    "test_session_helpers_store.py::TestListSessionsFromStore::test_load_concurrency_is_bounded": (
        "waits for five steps of the event loop, in which only a dict lists its sessions"
    ),
    "test_session_resume.py::TestTimeoutsAndErrors::test_cancelled_after_mkdtemp_cleans_temp_dir": (
        "waits for fifty steps of the event loop, in which only a dict loads"
    ),
}


def run(source: Path, plugin: str, *more: str) -> tuple[int, int, str]:
    """Run the SDK's tests with *plugin*; return how many passed and failed, and what was printed."""
    given = [f"--deselect=tests/{name}[asyncio]" for name in DESELECTED]
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin),
            *("-k", "not trio"),  # it is not installed here
            *given,
            *more,
            *(f"tests/{name}" for name in FILES),
        ],
        cwd=source,
        env={"PYTHONPATH": f"{source / 'src'}:{root}", "PATH": "/usr/bin:/bin", "HOME": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0), done.stdout + done.stderr


@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_store(source: Path) -> None:
    passed, failed, printed = run(source, "tests.adapters.claude_agent.upstream")
    print({"passed": passed, "failed": failed, "deselected": len(DESELECTED)})
    assert failed == 0, printed
    assert passed > 150, printed


@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_store_that_loses_lines(source: Path) -> None:
    """The control of the test above."""
    _, failed, printed = run(source, "tests.adapters.claude_agent.upstream_losing")
    assert failed > 10, printed
