"""A package that brings a strategy by the entry point ``memory_ledger.strategies`` is installed like any other."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

PACKAGE = Path(__file__).parent / "strategy_package"
ROOT = Path(__file__).parents[2]
PROGRAM = """
import json
from ledger import SyncMemoryLedger
from ledger.stores.in_memory import InMemoryStore
from projections.memory_config.config import load

with SyncMemoryLedger.open(store=InMemoryStore(), config={"window": {"type": "newest_units", "units": 1}}) as ledger:
    ledger.add_user_message("s", "where is it?")
    ledger.add_tool_call("s", "look", {"for": "it"}, tool_call_id="c1")
    ledger.add_tool_result("s", "look", "here", tool_call_id="c1")
    shown = [entry.kind for entry in ledger.get_context("s").entries]
    tried = ledger.what_if("s", {"window": {"type": "newest-units", "units": 2}})
    print(json.dumps([shown, len(tried.window.entries), load({"window": {"type": "newest_units"}}).window.units]))
"""


def installed(folder: Path, **changes: str) -> Path:
    """Return the folder that the package was installed into, its entry point changed, without network access."""
    source, target = folder / "source", folder / "site"
    shutil.copytree(PACKAGE, source)
    for old, new in changes.items():
        project = source / "pyproject.toml"
        project.write_text(project.read_text().replace(f"{old}:STRATEGY", new))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


def run(*site: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as in an environment where *site* is installed."""
    path = os.pathsep.join(map(str, (ROOT, *site)))
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.full
def test_its_strategy_is_validated_shown_and_replayed_like_ours(tmp_path: Path) -> None:
    done = run(installed(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [["tool_call", "tool_result"], 3, 3]


def test_without_it_the_strategy_is_unknown() -> None:
    """Negative control."""
    done = run()
    assert done.returncode == 1
    assert "window.type: must be one of full," in done.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("newest_units:window", "the entry point 'newest_units' of memory_ledger.strategies must name a strategy"),
        ("projections.strategies.full:STRATEGY", "adds a second strategy 'full'"),
    ],
)
def test_a_package_with_no_strategy_or_a_built_in_name_is_named(tmp_path: Path, names: str, said: str) -> None:
    done = run(installed(tmp_path, newest_units=names))
    assert done.returncode == 1
    assert said in done.stderr
