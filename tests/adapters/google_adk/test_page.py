"""The example of the page about Google ADK runs as it stands there. Source: adapters GA-1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.stores.embedded import EmbeddedServer
from tests.adapters.google_adk import NOT_INSTALLED
from tests.support.databases import server_folder
from tests.support.pages import blocks

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "adapters" / "google-adk.md"


@pytest.mark.postgres
@pytest.mark.processes
def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    (example,) = [block for block in blocks(PAGE) if block.language == "python"]
    (tmp_path / "example.py").write_text(example.text)
    with server_folder() as folder:
        own = {"MEMORY_LEDGER_DATA_DIR": str(folder / "data"), "MEMORY_LEDGER_EMBEDDED_IDLE_S": "0"}
        done = subprocess.run(
            [sys.executable, "example.py"],
            cwd=tmp_path,
            env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        EmbeddedServer(folder / "data").stop()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["You said: Where is my order?", "0"]
    assert done.stdout.splitlines()[-1] == "True"
