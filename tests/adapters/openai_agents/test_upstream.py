"""The SDK's own tests of sessions and runs, with our session in the place of its own. Source: adapters AD-15, OA-10."""

from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.support.sdists import sdist
from tests.support.upstream_tests import ROOT, deselected, run_upstream

HERE: Final = Path(__file__).parent
FILES: Final = (
    "memory/test_session.py",
    "memory/test_session_limit.py",
    "memory/test_compaction_suffix.py",
    "memory/test_compaction_model_visibility.py",
    "memory/test_openai_responses_compaction_session.py",
    "utils/test_simple_session.py",
    "test_run_impl_resume_paths.py",
    "test_hitl_session_scenario.py",
    "test_run_state_pending_input.py",
    "test_max_turns.py",
    "deferred_session_writes",
)
#: Long, and about much else; `make test-adapters` runs them too.
MORE: Final = (
    "test_agent_runner.py",
    "test_agent_runner_streamed.py",
    "test_cancel_streaming.py",
    "test_soft_cancel.py",
    "test_handoff_history_duplication.py",
    "test_tool_failure_boundaries.py",
    "test_runner_guardrail_resume.py",
)


def run(source: Path, plugin: str, files: tuple[str, ...]) -> tuple[dict[str, int], str]:
    """Run the SDK's tests with *plugin*; return the counts and what was printed."""
    found = [f"tests/{name}" for name in files if (source / "tests" / name).exists()]  # some are newer
    options = [f"--deselect={name}" for name in deselected(HERE)]
    return run_upstream(source, plugin, *options, *found, path=(source / "src", ROOT, HERE))


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest) -> Path:
    """The folder of the source of the release that is installed."""
    return sdist("openai-agents", version("openai-agents"), request.config.cache.mkdir("sdists"))


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_the_tests_of_the_sdk_pass_with_our_session(source: Path) -> None:
    counts, printed = run(source, "upstream", FILES)
    print(counts)
    assert counts["failed"] + counts["error"] == 0, printed
    assert counts["passed"] > 400, printed
    assert counts["deselected"] <= len(deselected(HERE))


@pytest.mark.adapters_upstream
@pytest.mark.timeout(600)
def test_all_tests_of_the_runner_pass_with_our_session(source: Path) -> None:
    counts, printed = run(source, "upstream", MORE)
    print(counts)
    assert counts["failed"] + counts["error"] == 0, printed
    assert counts["passed"] > 500, printed


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.timeout(300)
def test_the_tests_of_the_sdk_reject_a_session_that_loses_items(source: Path) -> None:
    """The control."""
    counts, printed = run(source, "upstream_losing", ("memory/test_session.py",))
    assert counts["failed"] > 5, printed
