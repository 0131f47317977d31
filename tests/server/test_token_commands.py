"""The commands about tokens, and the login they need."""

import json
import secrets
from collections.abc import Iterator

import psycopg
import pytest

from ledger.server.access.token_format import key_id_of
from tests.cli.conftest import Cli
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


@pytest.fixture
def cli(server: Server, shared_database: str) -> Cli:
    """The command, entering as who migrates."""
    return Cli(server.database(shared_database), f"cli-{secrets.token_hex(6)}")


@pytest.fixture(scope="module")
def guarded(server: Server, shared_database: str) -> Iterator[Running]:
    with running(server.target(shared_database), auth_mode="token") as in_flight:
        yield in_flight


def test_a_token_is_created_shown_once_listed_and_revoked(cli: Cli, guarded: Running) -> None:
    """trust S-2."""
    created = cli.json("token", "add", "ann", "--scope", "read", "--days", "3")
    token, key_id = created["token"], created["key_id"]
    assert key_id_of(token) == key_id
    answer = http_client.get(f"{guarded.url}/v1/probe/who", headers={"x-api-key": token})
    assert answer.json() == {
        "actor": "ann",
        "scopes": ["read"],
        "namespaces": [cli.namespace],
        "namespace": cli.namespace,
    }
    listed = cli("token", "list", "--json").out
    assert token not in listed
    (row,) = [row for row in json.loads(listed) if row["key_id"] == key_id]
    assert row["revoked_at"] is None
    assert row["expires_at"] > row["created_at"]
    cli("token", "revoke", key_id)
    cli("token", "revoke", key_id)
    (row,) = [row for row in cli.json("token", "list") if row["key_id"] == key_id]
    assert row["revoked_at"] is not None


def test_where_there_are_no_tokens_the_list_says_so(server: Server, fresh_database: str) -> None:
    listed = Cli(server.database(fresh_database), "default")("token", "list")
    assert listed.lines == ["There are no tokens. Create one: memory-ledger token add NAME"]


def test_a_token_may_be_for_several_namespaces_or_all(cli: Cli, guarded: Running) -> None:
    several = cli("token", "add", "ann", "--allow", "a", "--allow", "b").out.strip()
    everything = cli("token", "add", "root", "--scope", "admin", "--all-namespaces").out.strip()
    who = [
        http_client.get(f"{guarded.url}/v1/probe/who", params={"namespace": "b"}, headers={"x-api-key": token}).json()
        for token in (several, everything)
    ]
    assert [each["namespaces"] for each in who] == [["a", "b"], None]
    assert who[0]["scopes"] == ["read", "write"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "ann", "--scope", "nonsense"],
        ["add", "a/b"],
        ["add", "ann", "--allow", "a/b"],
        ["add", "ann", "--allow", "*"],
        ["add", "ann", "--allow", "a", "--all-namespaces"],
        ["add", "ann", "--days", "0"],
        ["revoke", "unknown"],
    ],
)
def test_bad_arguments_are_refused(cli: Cli, arguments: list[str]) -> None:
    ran = cli.try_("token", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_the_login_of_the_service_makes_no_tokens(server: Server, shared_database: str) -> None:
    """Whoever takes the service over finds one token by its key id, and nothing else."""
    with server.login("ledger_app") as login:
        url = server.url_of(login, shared_database)
        for arguments in (["add", "ann"], ["list"], ["revoke", "k"]):
            ran = Cli(url, "default").try_("token", *arguments)
            assert ran.code == 2
            assert "the login that migrates" in ran.err
        with psycopg.connect(url, autocommit=True) as connection:
            assert connection.execute("SELECT * FROM ledger.find_token('unknown')").fetchall() == []
            for attack in (
                "SELECT key_id FROM ledger.api_tokens",
                "INSERT INTO ledger.api_tokens (key_id, token_hash, name, scopes) VALUES ('k', '\\x', 'n', '{admin}')",
                "UPDATE ledger.api_tokens SET scopes = '{admin}'",
                "DELETE FROM ledger.api_tokens",
                "TRUNCATE ledger.api_tokens",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(attack)


def test_the_database_keeps_no_token(cli: Cli, server: Server, shared_database: str) -> None:
    token = cli("token", "add", "ann").out.strip()
    with server.superuser(shared_database) as mighty:
        rows = mighty.execute("SELECT t::text FROM ledger.api_tokens t").fetchall()
    assert rows
    assert token.split("_")[2] not in str(rows)
