"""The SDK's own tests of sessions, with our store in the place of its own. Source: adapters CL-8, AD-15."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.upstream_tests import run_upstream

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


def run(source: Path, plugin: str) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin*; return the counts and what was printed."""
    options = ["-k", "not trio", *(f"--deselect=tests/{name}[asyncio]" for name in DESELECTED)]  # trio is not installed
    return run_upstream(source, plugin, *options, *(f"tests/{name}" for name in FILES), path=(source / "src",))


@pytest.mark.processes
def test_the_tests_of_the_sdk_pass_with_our_store(source: Path) -> None:
    counts, printed = run(source, "tests.adapters.claude_agent.upstream")
    print(counts)
    assert counts["failed"] + counts["error"] == 0, printed
    assert counts["passed"] > 150, printed


@pytest.mark.slow
@pytest.mark.processes
def test_the_tests_of_the_sdk_reject_a_store_that_loses_lines(source: Path) -> None:
    """The control of the test above."""
    counts, printed = run(source, "tests.adapters.claude_agent.upstream_losing")
    assert counts["failed"] > 10, printed
