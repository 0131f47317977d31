"""The files for CI, releases, hooks, issues and containers do not rot: each check has a variant that it catches."""

from collections.abc import Callable

import pytest
import typer.main

from ledger.cli.app import app
from tests.support import workflows
from tests.support.pages import ROOT
from tests.support.workflows import read

WORKFLOWS = sorted(path.name for path in (ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path.name for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def command_names() -> set[str]:
    """Return the commands of `memory-ledger`, and its options that are commands."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return {*group.list_commands(typer.Context(group)), "--version", "--help"}


def test_there_is_a_workflow_for_each_occasion() -> None:
    assert WORKFLOWS == ["ci.yml", "locks.yml", "nightly.yml", "release.yml"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_calls_what_exists_and_may_do_no_more_than_it_needs(name: str) -> None:
    text = read(f".github/workflows/{name}")
    faults = [*workflows.pin_faults(text), *workflows.right_faults(name, text), *workflows.command_faults(text)]
    assert faults == []


def test_ci_runs_the_commands_of_everybody() -> None:
    run = " ".join(workflows.commands(read(".github/workflows/ci.yml")))
    for command in ("make check", "make release-check", "make test", ".ci/run"):
        assert command in run


@pytest.mark.parametrize(
    ("check", "file"),
    [
        (workflows.matrix_faults, ".github/workflows/ci.yml"),
        (workflows.hook_faults, ".pre-commit-config.yaml"),
        (workflows.update_faults, ".github/dependabot.yml"),
        (workflows.container_faults, ".devcontainer/devcontainer.json"),
        (workflows.badge_faults, "README.md"),
    ],
)
def test_a_file_says_what_is_so(check: Callable[[str], list[str]], file: str) -> None:
    assert check(read(file)) == []


def test_hooks_have_their_versions_from_the_lock() -> None:
    assert {"ruff", "mypy", "import-linter", "pre-commit"} <= workflows.tools_of_hooks()


@pytest.mark.parametrize("name", FORMS)
def test_a_form_asks_for_what_the_command_line_has(name: str) -> None:
    text = read(f".github/ISSUE_TEMPLATE/{name}")
    assert workflows.form_faults(text, command_names()) == []
    assert "version" in {part.get("id") for part in workflows.parsed(text)["body"]}


def test_a_report_has_the_state_of_the_installation_and_the_smallest_history() -> None:
    form = workflows.parsed(read(".github/ISSUE_TEMPLATE/bug.yml"))
    assert {"version", "doctor", "history"} <= {part.get("id") for part in form["body"]}


PIN = "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"


@pytest.mark.parametrize(
    ("check", "file", "there", "instead", "fault"),
    [
        (workflows.pin_faults, ".github/workflows/ci.yml", PIN, "@v7", "not a commit"),
        (workflows.pin_faults, ".github/workflows/ci.yml", " # v7.0.1", "", "not a commit"),
        (workflows.command_faults, ".github/workflows/ci.yml", "run: make test", "run: make tests", "no target tests"),
        (workflows.command_faults, ".github/workflows/ci.yml", "run: .ci/run", "run: .ci/all", "no .ci/all"),
        (workflows.command_faults, ".github/workflows/nightly.yml", "test-slow", "test-long", "no target test-long"),
        (workflows.matrix_faults, ".github/workflows/ci.yml", '"3.13", "3.14"', '"3.13"', "python"),
        (workflows.matrix_faults, ".github/workflows/ci.yml", '"15", "16"', '"15"', "postgres"),
        (workflows.matrix_faults, ".github/workflows/ci.yml", "[ubuntu-24.04, macos-15]", "[ubuntu-24.04]", "os"),
        (workflows.hook_faults, ".pre-commit-config.yaml", "repo: local", "repo: elsewhere", "list of versions"),
        (workflows.hook_faults, ".pre-commit-config.yaml", ".venv/bin/mypy", ".venv/bin/mipy", "no hook runs"),
        (workflows.hook_faults, ".pre-commit-config.yaml", "ruff check", "ruff clean", "does not run"),
        (workflows.update_faults, ".github/dependabot.yml", "directory: /ui", "directory: /web", "nothing to update"),
        (workflows.update_faults, ".github/dependabot.yml", "ecosystem: npm", "ecosystem: docker", "no entry for npm"),
        (workflows.update_faults, ".github/dependabot.yml", "groups:", "ignored:", "not grouped"),
        (workflows.container_faults, ".devcontainer/devcontainer.json", "python:3.11", "python:3.9", "no Python"),
        (workflows.container_faults, ".devcontainer/devcontainer.json", "make .venv/", "make .env/", "no target"),
        (workflows.badge_faults, "README.md", "Python 3.11 to 3.14", "Python 3.10 to 3.14", "claims Python 3.10"),
        (workflows.badge_faults, "README.md", "PostgreSQL 15 to 18", "PostgreSQL 14 to 18", "claims PostgreSQL 14"),
        (workflows.badge_faults, "README.md", "Linux, macOS", "Linux, macOS, Windows", "claims Linux, macOS, Windows"),
        (workflows.badge_faults, "README.md", "`Apache-2.0`", "`MIT`", "claims MIT"),
        (workflows.badge_faults, "README.md", " · `typed`", "", "does not say typed"),
        (workflows.badge_faults, "README.md", "`not released yet`", "`1,000 users`", "claims 1,000 users"),
        (workflows.badge_faults, "README.md", "`typed`", "`typed` ![passing](ci.svg)", "fetched"),
    ],
)
def test_what_is_not_so_is_found(
    check: Callable[[str], list[str]], file: str, there: str, instead: str, fault: str
) -> None:
    text = read(file)
    assert there in text
    assert fault in "\n".join(check(text.replace(there, instead)))


@pytest.mark.parametrize(
    ("there", "instead", "fault"),
    [
        ("permissions: {}", "permissions: write-all", "must begin with none"),
        ("contents: read", "contents: write", "may write contents"),
        ("concurrency:", "queue:", "no `concurrency`"),
        ("timeout-minutes:", "patience:", "no `timeout-minutes`"),
        ("make check docs ui-check", "echo ${{ secrets.TOKEN }}", "uses a secret"),
        ("  pull_request:\n", "  pull_request_target:\n", "what strangers send"),
    ],
)
def test_a_right_that_is_not_needed_is_found(there: str, instead: str, fault: str) -> None:
    text = read(".github/workflows/ci.yml")
    assert there in text
    assert fault in "\n".join(workflows.right_faults("ci.yml", text.replace(there, instead)))


def test_a_command_that_does_not_exist_is_found_in_a_form() -> None:
    assert workflows.form_faults("What `memory-ledger heal` prints", command_names()) == [
        "there is no `memory-ledger heal`"
    ]
