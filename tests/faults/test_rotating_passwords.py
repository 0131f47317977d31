"""A password is that of now at each new connection, wherever it comes from. Source: trust P-22."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ledger import MemoryLedger
from ledger.errors import DatabaseRefused, DatabaseUnavailable, InvalidInput
from ledger.stores import factory
from tests.support.killable_server import KillableServer

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

LOGIN = "rotating"
FIRST, SECOND = "first-0123456789abc", "second-0123456789ab"
Give = Callable[[str], None]


class Rotating:
    """A login whose password changes, and that the server asks for it."""

    def __init__(self, killable: KillableServer, database: str) -> None:
        self._admin = killable.server.database(database)
        self.url = killable.server.url_of(LOGIN, database).replace(f"{LOGIN}:secret@", f"{LOGIN}@")

    def rotate(self, password: str) -> None:
        """Change the password, and end the connections that used the old one."""
        with psycopg.connect(self._admin, autocommit=True) as admin:
            change = "ALTER ROLE {} PASSWORD {}"
            admin.execute(sql.SQL(change).format(sql.Identifier(LOGIN), sql.Literal(password)))
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (LOGIN,))


@pytest.fixture
def rotating(killable: KillableServer, database: str) -> Iterator[Rotating]:
    """The login, for whom alone the server asks for a password."""
    rules = killable._embedded._cluster / "pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(killable.server.database(database), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {LOGIN} LOGIN PASSWORD '{FIRST}' IN ROLE ledger_app")  # type: ignore[arg-type]
        rules.write_text(f"local all {LOGIN} scram-sha-256\n{before}")
        admin.execute("SELECT pg_reload_conf()")
        try:
            yield Rotating(killable, database)
        finally:
            rules.write_text(before)
            admin.execute("SELECT pg_reload_conf()")
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (LOGIN,))
            admin.execute(f"DROP ROLE {LOGIN}")  # type: ignore[arg-type]


async def rotated(rotating: Rotating, namespace: str, give: Give, **arguments: object) -> None:
    """Open with the first password, change it, and go on with the second."""
    give(FIRST)
    async with MemoryLedger.open(namespace=namespace, **arguments) as ledger:  # type: ignore[arg-type]
        await ledger.add_user_message("s", "before")
        await ledger.list_sessions()
        give(SECOND)
        rotating.rotate(SECOND)
        await ledger.add_user_message("s", "after")
        assert len(await ledger.list_sessions()) == 1
        assert [entry.content for entry in await ledger.get_transcript("s")] == ["before", "after"]


@pytest.fixture
def environment(rotating: Rotating, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Give]:
    """How a password may come from outside, without an argument."""
    file = tmp_path / "secret"

    def in_a_file(variable: str, url: bool = False) -> Give:
        def give(password: str) -> None:
            file.write_text(with_password(password) if url else password)
            monkeypatch.setenv(variable, str(file))

        return give

    def with_password(password: str) -> str:
        return rotating.url.replace(f"{LOGIN}@", f"{LOGIN}:{password}@")

    monkeypatch.delenv("MEMORY_LEDGER_DATABASE_URL", raising=False)
    return {
        "PASSWORD": lambda password: monkeypatch.setenv("MEMORY_LEDGER_DATABASE_PASSWORD", password),
        "PASSWORD_FILE": in_a_file("MEMORY_LEDGER_DATABASE_PASSWORD_FILE"),
        "URL": lambda password: monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL", with_password(password)),
        "URL_FILE": in_a_file("MEMORY_LEDGER_DATABASE_URL_FILE", url=True),
        "PGPASSWORD": lambda password: monkeypatch.setenv("PGPASSWORD", password),
    }


@pytest.mark.parametrize("source", ["PASSWORD", "PASSWORD_FILE", "URL", "URL_FILE", "PGPASSWORD"])
async def test_a_password_of_the_environment_is_read_for_each_connection(
    rotating: Rotating, environment: dict[str, Give], namespace: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if source in {"URL", "URL_FILE"}:
        await rotated(rotating, namespace, environment[source])
        return
    await rotated(rotating, namespace, environment[source], database_url=rotating.url)


@pytest.mark.parametrize("kind", ["function", "async function"])
async def test_a_function_gives_the_password_of_each_connection(rotating: Rotating, namespace: str, kind: str) -> None:
    valid = [FIRST]

    async def later() -> str:
        return valid[0]

    def give(password: str) -> None:
        valid[0] = password

    password = later if kind == "async function" else lambda: valid[0]
    await rotated(rotating, namespace, give, database_url=rotating.url, password=password)


async def test_a_password_that_is_read_once_is_caught(
    rotating: Rotating, environment: dict[str, Give], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: after the rotation each new connection is refused."""
    monkeypatch.setattr(factory, "_login", lambda settings, password: None)
    with pytest.raises(DatabaseRefused):
        await rotated(rotating, namespace, environment["PASSWORD_FILE"], database_url=rotating.url)


async def test_a_password_that_cannot_be_had_says_so(rotating: Rotating) -> None:
    def fails() -> str:
        raise RuntimeError("hunter2")

    with pytest.raises(DatabaseUnavailable, match=r"could not be read: RuntimeError$"):
        async with MemoryLedger.open(rotating.url, password=fails):
            pass
    for arguments in (
        {"database_url": rotating.url, "password": 5},
        {"data_dir": "/nowhere", "password": "x"},
        {"database_url": rotating.url.replace(f"{LOGIN}@", f"{LOGIN}:x@"), "password": "y"},
    ):
        with pytest.raises(InvalidInput, match="password"):
            async with MemoryLedger.open(**arguments):  # type: ignore[arg-type]
                pass


async def test_the_url_of_another_database_is_not_followed(
    rotating: Rotating, environment: dict[str, Give], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment["URL"](FIRST)
    async with MemoryLedger.open(namespace=namespace) as ledger:
        await ledger.add_user_message("s", "before")
        monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL", "postgresql://someone:else@elsewhere/other")
        rotating.rotate(FIRST)
        await ledger.add_user_message("s", "after")


@pytest.mark.parametrize("options", ["-csearch_path%3Dtenant_b", "-c%20search_path%3Dtenant_b", "--search_path%3Db"])
async def test_a_schema_for_each_tenant_is_refused_with_the_way_that_exists(rotating: Rotating, options: str) -> None:
    separator = "&" if "?" in rotating.url else "?"
    with pytest.raises(InvalidInput, match="give each tenant a namespace"):
        async with MemoryLedger.open(f"{rotating.url}{separator}options={options}"):
            pass
