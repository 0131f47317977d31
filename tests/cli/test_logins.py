"""The command that makes the login of the application: db login. Source: trust D-10."""

import secrets
from collections.abc import Iterator

import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ledger.stores.postgres import PostgresStore, Target
from tests.cli.conftest import Cli
from tests.support.databases import Server

PASSWORD = "a-password-of-the-application"


@pytest.fixture
def name(server: Server) -> Iterator[str]:
    """The name of a login that is not there yet, dropped at the end."""
    name = f"test_{secrets.token_hex(6)}"
    yield name
    with server.superuser("postgres") as mighty:
        mighty.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))


@pytest.fixture
def owner(cli: Cli, server: Server, shared_database: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command as the owner, with a password for the login."""
    monkeypatch.setattr(cli, "url", server.database(shared_database))
    monkeypatch.setenv("MEMORY_LEDGER_LOGIN_PASSWORD", PASSWORD)
    return cli


async def test_a_login_of_the_application_can_do_what_it_needs(
    owner: Cli, name: str, server: Server, shared_database: str
) -> None:
    assert owner.json("db", "login", name) == {"login": name, "made": True}
    store = await PostgresStore.open(Target(server.url_of(name, shared_database).replace(":secret@", f":{PASSWORD}@")))
    assert store.login.role == name
    await store.close()


def test_its_password_is_changed_and_sent_as_a_verifier_only(
    owner: Cli, name: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored() -> str:
        with server.superuser("postgres") as mighty:
            row = mighty.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (name,)).fetchone()
        assert row
        return str(row[0])

    owner("db", "login", name)
    first = stored()
    assert first.startswith("SCRAM-SHA-256$")
    monkeypatch.setenv("MEMORY_LEDGER_LOGIN_PASSWORD", PASSWORD * 2)
    assert owner("db", "login", name).out == f"password of login {name} changed\n"
    assert stored() != first


@pytest.mark.parametrize("there", ["superuser", "ledger_app", "ledger_owner"])
def test_a_login_that_is_not_the_applications_is_left_alone(owner: Cli, server: Server, there: str) -> None:
    name = conninfo_to_dict(server.url)["user"] if there == "superuser" else there
    ran = owner.try_("db", "login", str(name))
    assert ran.code == 2
    assert "choose another" in ran.err


@pytest.mark.parametrize("password", ["", "too short", None])
def test_a_poor_password_is_refused_and_not_repeated(
    owner: Cli, name: str, password: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if password is None:
        monkeypatch.delenv("MEMORY_LEDGER_LOGIN_PASSWORD")
    else:
        monkeypatch.setenv("MEMORY_LEDGER_LOGIN_PASSWORD", password)
    ran = owner.try_("db", "login", name)
    assert ran.code == 2
    assert "MEMORY_LEDGER_LOGIN_PASSWORD" in ran.err
    assert "too short" not in ran.err


def test_there_is_a_schema_first(owner: Cli, name: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.fresh(migrated=False) as empty:
        monkeypatch.setattr(owner, "url", server.database(empty))
        ran = owner.try_("db", "login", name)
    assert ran.code in {1, 2}
    assert "db upgrade" in ran.err


def test_the_application_makes_no_logins(cli: Cli, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_LOGIN_PASSWORD", PASSWORD)
    ran = cli.try_("db", "login", name)
    assert ran.code == 2
    assert "privilege" in ran.err
