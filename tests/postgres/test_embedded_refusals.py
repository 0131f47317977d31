"""Where the embedded server cannot run, a command says so at once, in one line. Source: trust N-13, R-7."""

import shutil
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ledger.cli import command_table  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.stores.embedded.server import EmbeddedServer
from tests.support.databases import POSTGRES_15, server_folder
from tests.support.patience import within

pytestmark = pytest.mark.postgres


def refusal(*arguments: str) -> tuple[int, str]:
    """Return exit code and error of a command that must end soon, with one line."""
    started = time.monotonic()
    done = CliRunner().invoke(app, arguments)
    assert time.monotonic() - started < within(10)
    assert done.stderr.count("\n") == 1, done.stderr
    return done.exit_code, done.stderr


@pytest.mark.skipif(not POSTGRES_15.exists(), reason="PostgreSQL 15 is not installed here")
def test_data_of_another_major_version_are_refused_and_untouched() -> None:
    with server_folder() as folder:
        older = EmbeddedServer(folder, binaries=POSTGRES_15)
        with older.lock():
            older._initialise()
        code, texts = refusal("--data-dir", str(folder), "sessions")
        assert code == 1
        assert "15" in texts
        assert "18" in texts
        assert older.start(), "the data still belong to their own version"
        older.stop()


@pytest.mark.parametrize("where", ["/dev/null", "/dev/null/below", "/proc/nowhere"])
def test_a_folder_that_cannot_hold_data_is_one_clear_error(where: str) -> None:
    for arguments in (("sessions",), ("db", "start"), ("db", "stop"), ("doctor",)):
        code, texts = refusal("--data-dir", where, *arguments)
        assert code == 1
        assert where in texts


@pytest.mark.parametrize("what", ["start", "stop", "status"])
def test_only_the_embedded_server_is_started_and_stopped(what: str) -> None:
    code, texts = refusal("--database-url", "postgresql://somewhere.else/none", "db", what)
    assert code == 2
    assert "--database-url" in texts


def test_a_data_path_that_is_too_long_is_named(tmp_path: Path) -> None:
    long = tmp_path.joinpath(*["x" * 200] * 5)
    for arguments in (("sessions",), ("db", "start"), ("doctor",)):
        code, texts = refusal("--data-dir", str(long), *arguments)
        assert code == 1
        assert "the path of the data directory is too long" in texts
        assert str(long) in texts
    assert not long.exists()


def test_a_path_that_is_too_long_for_a_socket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, temporary = tmp_path / ("x" * 100), tmp_path / ("t" * 100)
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    code, texts = refusal("--data-dir", str(data), "sessions")
    assert (code, "set TMPDIR" in texts, str(temporary) in texts) == (1, True, True)


def test_a_socket_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with server_folder() as folder:
        (folder / "run").write_text("no folder")
        code, texts = refusal("--data-dir", str(folder), "sessions")
        assert (code, f"{folder}/run" in texts, "it is not a folder" in texts) == (1, True, True)


def test_a_socket_folder_that_was_removed_is_named_and_a_stop_repairs_it() -> None:
    with server_folder() as folder:
        server = EmbeddedServer(folder)
        server.start()
        shutil.rmtree(server.socket_dir)
        code, texts = refusal("--data-dir", str(folder), "sessions")
        assert code == 1
        assert f"its socket in {folder}/run was removed; run `memory-ledger db stop`" in texts
        assert server.stop()
        assert server.start()
        server.stop()


def test_the_socket_is_where_the_server_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes may have different folders for temporary files, such as one that cron starts."""
    with server_folder() as folder, server_folder() as other:
        server = EmbeddedServer(folder / ("x" * 100))
        server.start()
        try:
            before = server.socket_dir
            monkeypatch.setattr("tempfile.tempdir", str(other))
            assert server.socket_dir == before
            assert server.start() is False
        finally:
            server.stop()
