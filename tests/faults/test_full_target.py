"""A full disk under what a command writes: one line, and no file that looks whole. Source: trust F-8, I-63."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.errors import DatabaseUnavailable
from ledger.stores.embedded.server import EmbeddedServer
from tests.support.command_process import assert_unavailable, environment, run
from tests.support.databases import Server
from tests.support.small_disk import filled, small_disk

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("full_target")]

LONG = "many words " * 10_000


@pytest.fixture(scope="module")
def where(server: Server, shared_database: str) -> Iterator[list[str]]:
    """Options that lead to a ledger with one long session, ``s``."""
    with server.login("ledger_app") as login:
        options = ["--database-url", server.url_of(login, shared_database), "--namespace", "full-target"]
        added = run(*options, "add", "s", LONG)
        assert added.returncode == 0, added.stderr
        yield options


def assert_nothing_left(disk: Path) -> None:
    """Assert that nothing bears the name of an export, nor any other."""
    assert not list(disk.iterdir()), "a file of the final name, or a part of one, was left"


@pytest.mark.parametrize("form", ["log", "state"])
def test_an_export_onto_a_full_disk_leaves_no_file(where: list[str], form: str) -> None:
    with small_disk(64) as disk:
        done = run(*where, "export", "s", "--format", form, "-o", disk / "out")
        assert_unavailable(done, "the disk is full")
        assert_nothing_left(disk)


def test_an_export_onto_a_full_disk_leaves_the_file_that_was_there(where: list[str]) -> None:
    with small_disk(64) as disk:
        (disk / "out").write_text("an older export")
        assert_unavailable(run(*where, "export", "s", "-o", disk / "out"), "the disk is full")
        assert (disk / "out").read_text() == "an older export"
        assert [path.name for path in disk.iterdir()] == ["out"]


CARELESS = """
from pathlib import Path
from ledger.cli import export, main

async def write(target, chunks):
    with Path(target).open("wb") as file:
        async for chunk in chunks:
            file.write(chunk)
    return 0, 0

export.write_file = write
main()
"""


def test_a_command_that_writes_under_the_final_name_is_caught(where: list[str]) -> None:
    with small_disk(64) as disk:
        arguments = [*where, "export", "s", "-o", str(disk / "out")]
        subprocess.run([sys.executable, "-c", CARELESS, *arguments], env=environment(), check=False, timeout=60)
        with pytest.raises(AssertionError, match="final name"):
            assert_nothing_left(disk)


@pytest.mark.parametrize(
    "arguments",
    [["export", "s"], ["show", "s"], ["show", "s", "--json"]],
    ids=" ".join,
)
def test_output_onto_a_full_disk_fails_with_one_line(where: list[str], arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        assert_unavailable(run(*where, *arguments, stdout=full), "No space left")


@pytest.mark.parametrize("name", ["transcript", "-"])
def test_an_import_without_space_for_its_temporary_file_fails_clearly(
    where: list[str], tmp_path: Path, name: str
) -> None:
    transcript = tmp_path / "transcript"
    transcript.write_text(f'{{"role": "user", "content": "{LONG}"}}\n' * 2)
    with small_disk(64) as disk, transcript.open() as source:
        target = name if name == "-" else transcript
        done = run(*where, "import", target, stdin=source, env=environment(TMPDIR=str(disk)))
        assert_unavailable(done, "No space left")


def test_a_server_without_space_to_start_fails_clearly() -> None:
    with small_disk(64 * 1024) as disk:
        server = EmbeddedServer(disk)
        server.start()
        server.stop()
        with filled(disk), pytest.raises(DatabaseUnavailable, match="No space left"):
            server.start()
        server.start()
        server.stop()


@pytest.mark.parametrize("kilobytes", [64, 10 * 1024])
def test_a_disk_too_small_for_a_database_is_named_as_the_reason(kilobytes: int) -> None:
    with small_disk(kilobytes) as disk, pytest.raises(DatabaseUnavailable, match="No space left"):
        EmbeddedServer(disk).start()
