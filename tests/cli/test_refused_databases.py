"""Databases and settings that a command refuses, without showing a password. Source: trust I-61, P-11."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.command_table import COMMANDS, CONNECTING, EMBEDDED_ONLY, check_one_line
from tests.support.databases import Server

File = Callable[..., str]
PASSWORD = "hunter2-and-more"
UNREACHABLE = f"postgresql://u:{PASSWORD}@127.0.0.1:1/x"


@pytest.mark.parametrize("name", CONNECTING)
def test_a_database_that_cannot_be_reached_is_said_without_its_password(cli: Cli, file: File, name: str) -> None:
    """trust I-61; exit code 1, of doctor 4."""
    file([{"role": "user", "content": "hello"}], "transcript.json")
    if name == "db restore":
        cli("add", "s", "hello")
        file(cli("export", "--all").out, "transcript.json")
    ran = cli.try_(*COMMANDS[name], where=["--database-url", UNREACHABLE])
    if name == "doctor":
        assert (ran.code, ran.err) == (4, "")
        assert ran.out.startswith("✗ connection: ")
    else:
        assert "the database does not answer" in check_one_line(ran, 1)
    assert PASSWORD not in ran.out + ran.err
    assert "refused" in ran.out + ran.err, "it says why"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_what_is_no_database_url_is_refused_without_its_password(cli: Cli, name: str) -> None:
    Path("transcript.json").write_text('[{"role": "user", "content": "hello"}]')
    for url in (f"mysql://u:{PASSWORD}@h/x", f"host=h password={PASSWORD}", f"postgresql://h/x?pass={PASSWORD}", ""):
        ran = cli.try_(*COMMANDS[name], where=["--database-url", url])
        assert PASSWORD not in check_one_line(ran)


@pytest.mark.parametrize("name", EMBEDDED_ONLY)
def test_only_the_embedded_server_is_started_and_stopped(cli: Cli, name: str) -> None:
    assert "embedded" in check_one_line(cli.try_(*COMMANDS[name]))


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"demo", "db status", "db login"}])
def test_a_data_directory_that_can_be_none_is_said(cli: Cli, file: File, name: str) -> None:
    file([{"role": "user", "content": "hello"}], "transcript.json")
    if name == "db restore":
        cli("add", "s", "hello")
        file(cli("export", "--all").out, "transcript.json")
    for folder in (file("", "a-file"), "a-file/below"):
        texts = check_one_line(cli.try_(*COMMANDS[name], where=["--data-dir", folder]), 1)
        assert "data directory" in texts
    check_one_line(cli.try_(*COMMANDS[name], where=["--data-dir", ""]))


@pytest.mark.parametrize("name", [name for name in CONNECTING if name != "db upgrade"])
def test_a_database_without_our_schema_names_the_command_to_run(
    cli: Cli, without_schema: str, file: File, name: str
) -> None:
    file([{"role": "user", "content": "hello"}], "transcript.json")
    if name == "db restore":
        cli("add", "s", "hello")
        file(cli("export", "--all").out, "transcript.json")
    url = cli.url.replace(_database(cli.url), without_schema)
    ran = cli.try_(*COMMANDS[name], where=["--database-url", url])
    if name == "doctor":
        assert ran.code == 4
        assert "✗ schema: none; run `memory-ledger db upgrade`" in ran.lines
    else:
        assert "memory-ledger db upgrade" in check_one_line(ran, 1)


@pytest.fixture(scope="module")
def without_schema(server: Server):
    with server.fresh(migrated=False) as name:
        yield name


def _database(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def test_a_login_that_may_not_upgrade_or_restore_is_refused(talked: Cli, file: File) -> None:
    export = file(talked("export", "--all").out)
    for arguments in (["db", "restore", export],):
        assert "privilege" in check_one_line(talked.try_(*arguments))


def test_bad_settings_in_the_environment_are_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SUMMARIZER_TIMEOUT_S", "soon"), ("COMPACTION_LEASE_S", "-1"), ("DATABASE_URL", "x")):
        with monkeypatch.context() as patch:
            patch.setenv(f"MEMORY_LEDGER_{name}", value)
            texts = check_one_line(cli.try_("sessions", where=[]))
            assert f"MEMORY_LEDGER_{name}" in texts


def test_an_empty_variable_is_as_good_as_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "NAMESPACE", "ACTOR", "SUMMARIZER_MODEL"):
        monkeypatch.setenv(f"MEMORY_LEDGER_{name}", "")
    assert "data directory" in check_one_line(cli.try_("sessions", where=[]), 1)
    cli("add", "s", "hello")
    assert [event["actor"] for event in cli.json("timeline", "s")["events"]] == ["cli", "cli"]
