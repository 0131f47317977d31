"""Where roles cannot be created the application runs as the owner, under forced row security (trust D-10, V-9)."""

import json
from collections.abc import Iterator

import psycopg
import pytest
from typer.testing import CliRunner

from ledger.cli import command_table  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.events.ids import Stream
from ledger.stores.postgres import Target
from ledger.stores.postgres.migration import upgrade
from ledger.stores.postgres.revisions import newest_revision
from tests.postgres.conftest import opened
from tests.support.databases import embedded, server_folder
from tests.support.store_requests import an_event, append
from tests.support.whole_log import assert_whole

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("without roles")]

STREAM = Stream.of("default", "session-1")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A database of a login that owns it and may do nothing else, on a server that no other test makes roles on."""
    with server_folder() as folder, embedded(folder) as server:
        with psycopg.connect(server.url, autocommit=True) as admin:
            admin.execute("CREATE ROLE tenant LOGIN")
            for name in ("tenant", "copy"):
                admin.execute(f"CREATE DATABASE {name} OWNER tenant")
        assert upgrade(server.url_of("tenant", "tenant")) == (None, newest_revision())
        yield server.url_of("tenant", "tenant")


async def test_the_ledger_works_all_the_same(url: str) -> None:
    async with opened(Target(url)) as store:
        assert (store.login.could_rewrite, store.login.application_role) == ("tenant", False)
        receipts = (await append(store, STREAM, an_event())).receipts
        await assert_whole(store, "default", receipts)


async def test_mistakes_are_stopped_all_the_same(url: str) -> None:
    async with opened(Target(url)) as store:
        await append(store, STREAM, an_event())
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM ledger.events").fetchone() == (0,), "no namespace is set"
        connection.execute("SELECT set_config('ledger.namespace', %s, true)", (str(STREAM.namespace_id),))
        with pytest.raises(psycopg.DatabaseError) as refused:
            connection.execute("DELETE FROM ledger.events")
        assert refused.value.sqlstate == "LG000"


def test_doctor_names_what_is_weaker(url: str) -> None:
    done = CliRunner().invoke(app, ["--database-url", url, "doctor", "--json"])
    weaker = {check["name"]: check for check in json.loads(done.stdout)["checks"] if check["level"] != "ok"}
    assert (done.exit_code, set(weaker)) == (3, {"role"})
    for words in ("tenant", "guards stop only its mistakes", "it could drop the policies of namespaces"):
        assert words in weaker["role"]["found"]


def test_an_export_is_restored_there(url: str, tmp_path) -> None:
    file = str(tmp_path / "export.jsonl")
    there = ["--database-url", url.replace("/tenant?", "/copy?")]
    done = [
        CliRunner().invoke(app, arguments)
        for arguments in (
            ["--database-url", url, "add", "diary", "hello"],
            ["--database-url", url, "export", "--all", "-o", file],
            [*there, "db", "upgrade"],
            [*there, "db", "restore", file],
            [*there, "verify"],
        )
    ]
    assert [(each.exit_code, each.stderr) for each in done] == [(0, "")] * 5
