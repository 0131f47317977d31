"""Where the embedded server cannot run, a command says so at once, in one line. Source: trust N-13, R-7."""

import time

import pytest
from typer.testing import CliRunner

from ledger.cli import commands  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.stores.embedded import EmbeddedServer
from tests.support.databases import POSTGRES_15, server_folder

pytestmark = pytest.mark.postgres


def refusal(*arguments: str) -> tuple[int, str]:
    """Return exit code and error of a command that must end soon, with one line."""
    started = time.monotonic()
    done = CliRunner().invoke(app, arguments)
    assert time.monotonic() - started < 10
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
