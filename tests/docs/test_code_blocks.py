"""Every code block of the README and the docs does what the page says: it runs."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.stores.embedded import EmbeddedServer
from tests.databases import server_folder
from tests.docs.pages import PAGES, ROOT, Block, blocks

_RUNNABLE = {"python": [sys.executable], "sh": ["bash", "-euo", "pipefail"]}
_SILENT = {"sql", ""}
_WITH_CODE = [page for page in PAGES if any(block.language in _RUNNABLE and block.runs for block in blocks(page))]


@pytest.fixture
def reader() -> Iterator[Path]:
    """A newcomer's empty folder, with the examples beside it and a data directory of their own."""
    with server_folder() as folder, tempfile.TemporaryDirectory(prefix="reader-") as desk:
        (Path(desk) / "examples").symlink_to(ROOT / "examples")
        (Path(desk) / "data").symlink_to(folder)
        yield Path(desk)
        EmbeddedServer(folder).stop()


def run(block: Block, reader: Path) -> subprocess.CompletedProcess[str]:
    """Run *block* as a reader would, in their folder."""
    name = "block.py" if block.language == "python" else "block.sh"
    (reader / name).write_text(block.text)
    known = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_LEDGER_")}
    path = f"{Path(sys.executable).parent}:{known['PATH']}"
    environment = {**known, "PATH": path, "MEMORY_LEDGER_DATA_DIR": str((reader / "data").resolve()), "COLUMNS": "120"}
    return subprocess.run(
        [*_RUNNABLE[block.language], name],
        cwd=reader,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("page", _WITH_CODE, ids=lambda page: page.name)
def test_the_code_blocks_of_a_page_run_one_after_the_other(page: Path, reader: Path) -> None:
    for block in blocks(page):
        if block.language in _RUNNABLE and block.runs:
            done = run(block, reader)
            assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"


def test_a_block_that_fails_is_noticed(reader: Path) -> None:
    assert run(Block("python", True, "from ledger import NoSuchName"), reader).returncode != 0
    assert run(Block("sh", True, "memory-ledger no-such-command\ntrue"), reader).returncode != 0


def test_all_languages_are_known() -> None:
    languages = {block.language for page in PAGES for block in blocks(page)}
    assert languages <= _RUNNABLE.keys() | _SILENT
    assert {"python", "sh"} <= languages
