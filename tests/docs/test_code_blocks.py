"""Every code block of the README and the docs does what the page says: it runs."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.factory import prepare
from tests.support.databases import server_folder
from tests.support.forked_command import SCRIPT, forked_command
from tests.support.pages import PAGES, ROOT, Block, blocks, name_of

_RUNNABLE = {"python": [SCRIPT], "sh": ["bash", "-euo", "pipefail"]}
_SILENT = {"diff", "sql", "json", "toml", "ini", "text", ""}  # tried in test_strategies, and INI in tests/pgbouncer
_WITH_CODE = [page for page in PAGES if any(block.language in _RUNNABLE and block.runs for block in blocks(page))]
_ADAPTERS = [page for page in _WITH_CODE if page.parent.name == "adapters"]


@pytest.fixture(scope="module")
def new_data() -> Iterator[Path]:
    """A data directory as it is after the first start, to be copied: making one takes longer than most pages."""
    with server_folder() as folder:
        server = EmbeddedServer(folder / "data")
        prepare(server)
        server.stop()
        yield server.data_dir


@pytest.fixture
def reader(new_data: Path) -> Iterator[Path]:
    """A newcomer's empty folder, with the examples beside it and a data directory of their own."""
    with server_folder() as folder, tempfile.TemporaryDirectory(prefix="reader-") as desk:
        subprocess.run(["cp", "-a", f"{new_data}/.", folder], check=True)
        (Path(desk) / "examples").symlink_to(ROOT / "examples")
        (Path(desk) / "data").symlink_to(folder)
        yield Path(desk)
        EmbeddedServer(folder).stop()


@pytest.fixture(scope="module")
def command() -> Iterator[Path]:
    """The folder of a ``memory-ledger`` that starts at once."""
    with tempfile.TemporaryDirectory(prefix="command-") as folder, forked_command(Path(folder)) as found:
        yield found


def run(block: Block, reader: Path, command: Path = Path(sys.executable).parent) -> subprocess.CompletedProcess[str]:
    """Run *block* as a reader would, in their folder, with the ``memory-ledger`` in the folder *command*."""
    name = block.title or ("block.py" if block.language == "python" else "block.sh")
    (reader / name).write_text(block.text)
    known = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_LEDGER_")}
    path = f"{command}:{Path(sys.executable).parent}:{known['PATH']}"
    environment = {
        **known,
        "PATH": path,
        "COLUMNS": "120",
        "MEMORY_LEDGER_DATA_DIR": str((reader / "data").resolve()),
        "MEMORY_LEDGER_EMBEDDED_IDLE_S": "0",  # so that no process is started to watch a server that ends with its page
    }
    return subprocess.run(
        [*_RUNNABLE[block.language], name],
        cwd=reader,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def check_blocks(page: Path, reader: Path, command: Path) -> None:
    """Run the code blocks of *page* one after the other."""
    for block in blocks(page):
        if block.language in _RUNNABLE and block.runs:
            done = run(block, reader, command)
            assert done.returncode == 0, f"{page}\n{block.text}\n{done.stdout}\n{done.stderr}"


@pytest.mark.sample(6)
@pytest.mark.parametrize("page", [page for page in _WITH_CODE if page not in _ADAPTERS], ids=name_of)
def test_the_code_blocks_of_a_page_run_one_after_the_other(page: Path, reader: Path, command: Path) -> None:
    check_blocks(page, reader, command)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_code_blocks_of_adapters_run_on_one_database_and_again(times: int, reader: Path, command: Path) -> None:
    """Readers try several of them, and each more than once."""
    for _ in range(times):
        for page in _ADAPTERS:
            check_blocks(page, reader, command)


def unset(page: Path) -> set[str]:
    """Return the variables that commands of *page* read, and that neither they nor a login shell set."""
    known, found = {"HOME", "PWD", "USER", "PATH"}, set[str]()
    for block in blocks(page):
        if block.language == "sh":
            text = re.sub(r"'[^']*'", "''", block.text)  # of the shell in a container, or of no shell
            known |= set(re.findall(r"(?:^|[ ;])(?:export |for )?([A-Za-z_]\w*)(?==| in )", text, re.MULTILINE))
            found |= set(re.findall(r"\$\{?([A-Za-z_]\w*)", text)) - known
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_read_only_variables_that_their_page_sets(page: Path) -> None:
    """Also in blocks that do not run here: in the shell of a reader, others are empty."""
    assert unset(page) == set()


def test_a_variable_that_nobody_sets_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    lines = ["TOKEN=$(new)", 'curl -H "Bearer $TOKEN" $URL', "for n in a; do echo ${n} '$x' $SERVICE_PASSWORD; done"]
    page.write_text("\n".join(["```sh norun", *lines, "```", ""]))
    assert unset(page) == {"URL", "SERVICE_PASSWORD"}


def test_a_block_that_fails_is_noticed(reader: Path, command: Path) -> None:
    assert run(Block("python", True, "from ledger import NoSuchName"), reader, command).returncode != 0
    assert run(Block("sh", True, "memory-ledger no-such-command\ntrue"), reader, command).returncode != 0


@pytest.mark.sample(3)
@pytest.mark.parametrize("text", ["memory-ledger --help", "memory-ledger sessions extra | cat", "memory-ledger add s"])
def test_the_forked_command_answers_as_the_installed_one(text: str, reader: Path, command: Path) -> None:
    forked, installed = (run(Block("sh", True, text), reader, *where) for where in ((command,), ()))
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        installed.returncode,
        installed.stdout,
        installed.stderr,
    )


def test_all_languages_are_known() -> None:
    languages = {block.language for page in PAGES for block in blocks(page)}
    assert languages <= _RUNNABLE.keys() | _SILENT
    assert {"python", "sh"} <= languages
