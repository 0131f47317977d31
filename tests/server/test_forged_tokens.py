"""A token holds only with its creation event: what a superuser writes into the table is refused and named."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import psycopg
import pytest

from ledger.ports.token_store import FoundToken
from ledger.server import authentication
from ledger.server.access.token_format import hash_of, key_id_of, new_token
from ledger.verification import VerifyReport, verify_namespace
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.attacked_log import without_guards
from tests.support.databases import Server
from tests.support.token_keeper import Keeper

pytestmark = pytest.mark.postgres

Superuser = psycopg.Connection[Any]
ALL_SCOPES = "{read,write,admin,system,import}"


@pytest.fixture
def guarded(server: Server, fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A service that wants tokens, on a database of its own, because `verify` sees the tokens of all namespaces."""
    monkeypatch.setattr(authentication, "CACHED_S", 0.0)
    with running(server.target(fresh_database), auth_mode="token") as in_flight:
        yield in_flight


@pytest.fixture
def keeper(server: Server, fresh_database: str) -> Keeper:
    return Keeper(server.database(fresh_database))


def status(service: Running, token: str) -> int:
    return http_client.get(f"{service.url}/v1/probe/admin", headers={"x-api-key": token}).status_code


def verified(service: Running) -> VerifyReport:
    work: Coroutine[Any, Any, VerifyReport] = verify_namespace(service.service.store, "default")
    return asyncio.run_coroutine_threadsafe(work, service.loop).result(20)


def problems(service: Running) -> list[str]:
    return [finding.problem for finding in verified(service).findings]


def test_an_inserted_token_is_refused_and_named(guarded: Running, server: Server, fresh_database: str) -> None:
    """trust A-24, K-6: also right after it was unknown, so not from a cache."""
    key_id, secret = new_token()
    assert status(guarded, secret) == 401
    with server.superuser(fresh_database) as mighty:
        mighty.execute(
            "INSERT INTO ledger.api_tokens (key_id, token_hash, name, scopes) VALUES (%s, %s, 'ann', %s)",
            (key_id, hash_of(secret), ALL_SCOPES),
        )
    assert status(guarded, secret) == 401
    report = verified(guarded)
    assert report.verdict == "CACHES DIFFER"
    assert [(finding.layer, finding.session_id) for finding in report.findings] == [(0, "/access")]
    assert f"token {key_id} has no event" in report.findings[0].problem


EDITS = {
    "scopes": f"SET scopes = '{ALL_SCOPES}'",
    "namespaces": "SET namespaces = NULL",
    "expiry": "SET expires_at = NULL",
    "name": "SET name = 'root'",
    "hash": "SET token_hash = sha256('x')",
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_token_is_refused_and_named(
    guarded: Running, keeper: Keeper, server: Server, fresh_database: str, edit: str
) -> None:
    token = keeper.add("admin", namespaces=("ours",), expires_in_s=1_000)
    assert status(guarded, token) == 200
    assert problems(guarded) == []
    with server.superuser(fresh_database) as mighty:
        mighty.execute(f"UPDATE ledger.api_tokens {EDITS[edit]}")
    assert status(guarded, token) == 401
    assert [f"token {key_id_of(token)} is not as" in problem for problem in problems(guarded)] == [True]


def test_a_revocation_cannot_be_taken_back(
    guarded: Running, keeper: Keeper, server: Server, fresh_database: str
) -> None:
    token = keeper.add("admin")
    keeper.revoke(token)
    keeper.revoke(token)
    assert problems(guarded) == []
    with server.superuser(fresh_database) as mighty:
        mighty.execute("UPDATE ledger.api_tokens SET revoked_at = NULL")
    assert status(guarded, token) == 401
    assert len(problems(guarded)) == 1


def test_a_deleted_row_is_named(guarded: Running, keeper: Keeper, server: Server, fresh_database: str) -> None:
    token = keeper.add("admin")
    with server.superuser(fresh_database) as mighty:
        mighty.execute("DELETE FROM ledger.api_tokens")
    assert status(guarded, token) == 401
    assert [f"token {key_id_of(token)} is missing" in problem for problem in problems(guarded)] == [True]


def delete_event(mighty: Superuser) -> None:
    mighty.execute("DELETE FROM ledger.events WHERE type = 'token.created'")


def rewrite_payload(mighty: Superuser) -> None:
    """Give another token the rights of the admin's, with a structure that has no hash."""
    mighty.execute("""
        UPDATE ledger.events
        SET structure = convert_to(replace(convert_from(structure, 'UTF8'), '"read"', '"admin"'), 'UTF8')
        WHERE type = 'token.created'
    """)
    mighty.execute("UPDATE ledger.api_tokens SET scopes = '{admin}'")


@pytest.mark.parametrize("attack", [delete_event, rewrite_payload])
def test_an_attack_on_the_creation_event_is_tampering(
    guarded: Running, keeper: Keeper, server: Server, fresh_database: str, attack: Callable[[Superuser], None]
) -> None:
    token = keeper.add("read")
    with server.superuser(fresh_database) as mighty, without_guards(mighty):
        attack(mighty)
    assert status(guarded, token) == 401
    assert verified(guarded).verdict == "TAMPERED"


def test_the_stream_of_tokens_is_no_session(guarded: Running, keeper: Keeper) -> None:
    """Callers for all namespaces see neither its namespace nor its events."""
    token = keeper.add("read", "admin")
    ids = asyncio.run_coroutine_threadsafe(guarded.service.store.events.namespace_ids(), guarded.loop).result(20)
    assert ids == []
    answer = http_client.get(f"{guarded.url}/v1/sessions", headers={"x-api-key": token})
    assert (answer.status_code, answer.json()["sessions"]) == (200, [])
    for namespace in ("/ledger", "%2Fledger"):
        asked = http_client.get(f"{guarded.url}/v1/sessions?namespace={namespace}", headers={"x-api-key": token})
        assert asked.status_code == 422


def test_a_service_that_asks_only_the_table_lets_an_inserted_token_in(
    guarded: Running, server: Server, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: without the comparison the attack succeeds."""
    monkeypatch.setattr(FoundToken, "difference", lambda self, key_id, logged: None)
    key_id, secret = new_token()
    with server.superuser(fresh_database) as mighty:
        mighty.execute(
            "INSERT INTO ledger.api_tokens (key_id, token_hash, name, scopes) VALUES (%s, %s, 'ann', %s)",
            (key_id, hash_of(secret), ALL_SCOPES),
        )
    assert status(guarded, secret) == 200
