"""The wheel holds the packages, the schema and the examples, and works from anywhere."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the working tree without network access."""
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(target), str(ROOT)], check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_has_two_packages_and_nothing_else_at_its_top(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"ledger", "projections"}
    assert "ledger/py.typed" in names
    assert "ledger/_migrations/sql/append.sql" in names
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "ledger").rglob("*.sql")} <= set(names)
    assert "ledger/_examples/coding_agent.jsonl" in names
    assert "ledger/replay/backtest/page.css" in names
    assert {f"ledger/server/ui/{name}" for name in ("viewer.js", "viewer.css", "icon.svg")} <= set(names)
    assert not [name for name in names if any(part.startswith("test") for part in name.split("/"))]


@pytest.mark.full
def test_the_unpacked_wheel_works_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = """
import sys
sys.path = [sys.argv[1]] + [each for each in sys.path if each != sys.argv[2]]
import ledger, projections
from ledger.cli.demo import example
from ledger.stores.postgres.revisions import newest_revision
assert ledger.__file__.startswith(sys.argv[1]), ledger.__file__
assert projections.__file__.startswith(sys.argv[1])
assert str(example()).startswith(sys.argv[1]) and example().exists()
assert newest_revision()
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path / "site"), str(ROOT)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
