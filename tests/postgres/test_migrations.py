"""Migrations: from nothing to head once, by whoever may; every other state of a database is refused in one line.

Source: trust D-10, D-11, P-20.
"""

import asyncio
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic import command
from alembic.config import Config
from typer.testing import CliRunner

from ledger.cli import command_table  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.errors import DatabaseUnavailable, InvalidInput, LedgerError, MigrationNeeded, NotAllowed
from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore, Target, revisions
from ledger.stores.postgres.migration import ADVISORY_LOCK, upgrade
from ledger.stores.postgres.revisions import migrations_dir, newest_revision
from tests.support.databases import Server
from tests.support.schema import dump
from tests.support.store_requests import an_event, append
from tests.support.whole_log import assert_whole

pytestmark = pytest.mark.postgres


@pytest.fixture(params=["server", "server_15"])
def each_server(request: pytest.FixtureRequest) -> Server:
    """The newest PostgreSQL and the oldest."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """A database that nobody migrated."""
    with server.fresh(migrated=False) as name:
        yield name


def at_revision(server: Server, database: str, revision: str) -> None:
    """Pretend that another release migrated the database."""
    with server.superuser(database) as mighty:
        mighty.execute("UPDATE ledger.alembic_version SET version_num = %s", (revision,))


def said(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the standard error of a command."""
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.stderr


def test_an_empty_database_is_migrated_once_and_then_usable(each_server: Server, namespace: str) -> None:
    with each_server.fresh(migrated=False) as name:
        assert upgrade(each_server.database(name)) == (None, newest_revision())
        created = dump(each_server.database(name))

        async def use() -> None:
            store = await PostgresStore.open(each_server.target(name))
            receipts = (await append(store, Stream.of(namespace, "session-1"), an_event())).receipts
            await assert_whole(store, namespace, receipts)
            await store.close()

        asyncio.run(use())
        assert upgrade(each_server.database(name)) == (newest_revision(), newest_revision())
        assert dump(each_server.database(name)) == created
        asyncio.run(use())


def test_the_sql_of_an_offline_upgrade_makes_the_same_schema(server: Server, empty: str, shared_database: str) -> None:
    script = io.StringIO()
    config = Config(output_buffer=script)
    config.set_main_option("script_location", str(migrations_dir()))
    command.upgrade(config, "head", sql=True)
    with server.superuser(empty) as mighty:
        mighty.execute(script.getvalue())
    assert dump(server.database(empty)) == dump(server.database(shared_database))
    assert upgrade(server.database(empty)) == (newest_revision(), newest_revision())


def test_of_several_upgrades_in_one_process_one_does_it(server: Server, empty: str) -> None:
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(upgrade, [server.database(empty)] * 4))
    assert {after for _, after in done} == {newest_revision()}


def test_an_upgrade_waits_for_the_one_under_way(server: Server, empty: str) -> None:
    """Negative control: what the attempts before had in common is the lock (trust D-11)."""
    with ThreadPoolExecutor() as pool, server.superuser(empty) as mighty:
        mighty.execute("SELECT pg_advisory_lock(%s)", (ADVISORY_LOCK,))
        waiting = pool.submit(upgrade, server.database(empty))
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
        assert mighty.execute("SELECT to_regnamespace('ledger')").fetchone() == (None,)
        mighty.execute("SELECT pg_advisory_unlock(%s)", (ADVISORY_LOCK,))
        assert waiting.result() == (None, newest_revision())


def test_where_a_ledger_is_expected_none_is_begun(server: Server, empty: str) -> None:
    url = server.database(empty)
    code, message = said("--database-url", url, "db", "upgrade", "--existing")
    assert code
    assert "has no ledger, but one was expected" in message
    with server.superuser(empty) as mighty:
        assert mighty.execute("SELECT to_regnamespace('ledger')").fetchone() == (None,)
    upgrade(url)
    assert said("--database-url", url, "db", "upgrade", "--existing")[0] == 0


def test_an_upgrade_without_the_right_changes_nothing(server: Server, empty: str, app_login: str) -> None:
    with pytest.raises(NotAllowed):
        upgrade(server.url_of(app_login, empty))
    with server.superuser(empty) as mighty:
        assert mighty.execute("SELECT to_regnamespace('ledger')").fetchone() == (None,)


def test_an_owner_without_special_rights_migrates(server: Server, empty: str) -> None:
    with server.login("ledger_owner") as owner:
        with server.superuser(empty) as mighty:
            mighty.execute(f"GRANT CREATE ON DATABASE {empty} TO ledger_owner")
        assert upgrade(server.url_of(owner, empty)) == (None, newest_revision())


async def refused(target: Target) -> str:
    with pytest.raises(MigrationNeeded) as fault:
        await PostgresStore.open(target)
    return str(fault.value)


async def test_a_server_without_schema_is_refused(server: Server, empty: str) -> None:
    assert "run `memory-ledger db upgrade`" in await refused(server.target(empty))


async def test_an_older_schema_is_refused(server: Server, fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "newest_revision", lambda: "0005")
    texts = await refused(server.target(fresh_database))
    assert "revision 0004" in texts
    assert "memory-ledger db upgrade" in texts


async def test_a_schema_from_before_the_first_release_is_refused_and_not_migrated(
    server: Server, fresh_database: str
) -> None:
    """trust H-17."""
    at_revision(server, fresh_database, "0003")
    texts = await refused(server.target(fresh_database))
    assert "revision 0003, from before the first release" in texts
    assert "use an empty database" in texts
    with pytest.raises(MigrationNeeded, match="from before the first release"):
        upgrade(server.database(fresh_database))


async def test_a_newer_schema_is_refused(server: Server, fresh_database: str) -> None:
    at_revision(server, fresh_database, "9999")
    texts = await refused(server.target(fresh_database))
    assert "revision 9999" in texts
    assert "newer release" in texts
    with pytest.raises(MigrationNeeded, match="newer release"):
        upgrade(server.database(fresh_database))


async def test_the_current_schema_is_not(server: Server, fresh_database: str) -> None:
    """Negative control."""
    await (await PostgresStore.open(server.target(fresh_database))).close()


#: What to open → error and exit code, and how the line ends.
UNUSABLE: list[tuple[str, type[LedgerError], int, str]] = [
    ("postgresql://me:hunter2@127.0.0.1:1/none", DatabaseUnavailable, 1, "(Connection refused); try again"),
    ("postgresql://me:hunter2@localhost:1/none", DatabaseUnavailable, 1, "(Connection refused); try again"),
    ("postgresql://me:hunter2@host.invalid/none", DatabaseUnavailable, 1, "(its host has no address); try again"),
    ("postgresql://me:hun@ter2@host.invalid/none", DatabaseUnavailable, 1, "(its host has no address); try again"),
    ("postgresql://me:hun/ter2@127.0.0.1/none", DatabaseUnavailable, 1, "; try again"),
    ("postgresql://me:hunter2@127.0.0.1/none?colour=red", InvalidInput, 2, "postgresql://user:password@host/database"),
    ("mysql://me:hunter2@127.0.0.1/none", InvalidInput, 2, "database"),
    ("me:hunter2", InvalidInput, 2, "database"),
]


@pytest.mark.parametrize(("url", "error", "code", "end"), UNUSABLE, ids=[case[0] for case in UNUSABLE])
def test_a_database_that_cannot_be_opened_is_one_line(url: str, error: type[LedgerError], code: int, end: str) -> None:
    with pytest.raises(error):
        upgrade(url)
    with pytest.raises(error):
        asyncio.run(PostgresStore.open(Target(url)))
    for arguments in (("db", "upgrade"), ("sessions",), ("verify",)):
        exit_code, stderr = said("--database-url", url, *arguments)
        assert exit_code == code
        assert stderr.count("\n") == 1
        assert stderr.startswith("memory-ledger: ")
        assert stderr.endswith(f"{end}\n")
        assert "hun" not in stderr
        assert "ter2" not in stderr


def test_errors_of_commands_name_the_command_that_helps(server: Server, empty: str, app_login: str) -> None:
    for arguments in (("sessions",), ("verify",), ("add", "s", "text")):
        code, stderr = said("--database-url", server.url_of(app_login, empty), *arguments)
        assert (code, stderr.count("\n")) == (1, 1)
        assert "memory-ledger db upgrade" in stderr
