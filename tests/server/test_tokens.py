"""Tokens of ours: what they look like, who they let in, and how little a wrong one learns."""

import asyncio
import hashlib
import time
from collections.abc import Iterator

import httpx
import pytest

from ledger.application.handle import NamespaceHandle
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.ports.token_store import FoundToken
from ledger.server import authentication
from ledger.server.access.token_format import hash_of, key_id_of, new_token
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.token_keeper import Keeper

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def guarded(server: Server, shared_database: str) -> Iterator[Running]:
    """A service that wants tokens."""
    with running(server.target(shared_database), auth_mode="token") as in_flight:
        yield in_flight


@pytest.fixture(scope="module")
def keeper(server: Server, shared_database: str) -> Keeper:
    return Keeper(server.database(shared_database))


def get(service: Running, path: str, token: str | None = None, **headers: str) -> httpx.Response:
    shown = {} if token is None else {"authorization": f"Bearer {token}"}
    return http_client.get(f"{service.url}{path}", headers={**shown, **headers})


def test_a_token_is_recognised_by_its_form() -> None:
    """trust S-2."""
    key_id, token = new_token()
    assert token.startswith(f"mlk_{key_id}_")
    assert key_id_of(token) == key_id
    assert new_token()[1] != token
    for place in (4, 20, len(token) - 1):
        wrong = token[:place] + ("a" if token[place] != "a" else "b") + token[place + 1 :]
        assert key_id_of(wrong) is None
    assert key_id_of(token + "\n") is None
    assert token.encode() not in hash_of(token)


def test_a_token_identifies_its_caller(guarded: Running, keeper: Keeper) -> None:
    """http W-74, W-75."""
    token = keeper.add("read", namespaces=("ours",))
    for headers in ({"authorization": f"Bearer {token}"}, {"authorization": f"bearer {token}"}, {"x-api-key": token}):
        answer = http_client.get(f"{guarded.url}/v1/probe/who", headers=headers)
        assert answer.json() == {"actor": "agent", "scopes": ["read"], "namespaces": ["ours"], "namespace": "ours"}


def test_a_token_is_valid_only_for_its_namespaces(guarded: Running, keeper: Keeper) -> None:
    """http W-75, trust S-5: whether the namespace exists or not."""
    token = keeper.add("read", namespaces=("ours", "theirs"))
    assert get(guarded, "/v1/probe/who?namespace=theirs", token).json()["namespace"] == "theirs"
    assert get(guarded, "/v1/probe/who", token).json()["code"] == "namespace_needed"
    refused = [get(guarded, f"/v1/probe/who?namespace={name}", token) for name in ("default", "nowhere")]
    assert {answer.status_code for answer in refused} == {403}
    assert refused[0].json() == refused[1].json()
    everywhere = keeper.add("read")
    assert get(guarded, "/v1/probe/who", everywhere).json()["namespace"] == "default"


def test_tenants_do_not_see_each_other(guarded: Running, keeper: Keeper, namespace: str) -> None:
    """trust P-10, I-81: the other's session is as one that never was."""
    mine, theirs = f"{namespace}-a", f"{namespace}-b"

    async def write() -> None:
        ledger = MemoryLedger(NamespaceHandle(guarded.service.services, mine, "ann"))
        await ledger.add_user_message("s", "hello")

    asyncio.run_coroutine_threadsafe(write(), guarded.loop).result(20)
    ours, other = keeper.add("read", namespaces=(mine,)), keeper.add("read", "admin", namespaces=(theirs,))
    assert get(guarded, "/v1/sessions/s/stats", ours).json()["active_entries"] == 1
    assert get(guarded, f"/v1/sessions/s/stats?namespace={mine}", other).status_code == 403
    there, nowhere = (get(guarded, f"/v1/sessions/{name}/stats", other) for name in ("s", "never"))
    assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)


def test_a_token_has_only_its_scopes(guarded: Running, keeper: Keeper) -> None:
    reader, admin = keeper.add("read"), keeper.add("admin")
    assert get(guarded, "/v1/probe/admin", reader).status_code == 403
    assert get(guarded, "/v1/probe/admin", reader).json()["code"] == "scope_needed"
    assert get(guarded, "/v1/probe/admin", admin).status_code == 200
    assert get(guarded, "/v1/sessions", admin).status_code == 200
    assert get(guarded, "/v1/sessions", keeper.add("write")).status_code == 403


def test_a_caller_with_write_permission_only_sees_nothing_stored(
    guarded: Running, keeper: Keeper, namespace: str
) -> None:
    """trust S-2: a PUT and a patch of data answer with the whole, so they need both scopes; an append does not."""
    headers = {"x-api-key": keeper.add("write", namespaces=(namespace,))}
    texts = {"entries": [{"role": "user", "content": "hello"}]}
    assert http_client.post(f"{guarded.url}/v1/sessions/s/entries", json=texts, headers=headers).status_code == 201
    refused = [
        http_client.put(f"{guarded.url}/v1/working-memory/s", json={}, headers=headers),
        http_client.patch(f"{guarded.url}/v1/sessions/s/data", json={"a": 1}, headers=headers),
        http_client.get(f"{guarded.url}/v1/working-memory/s", headers=headers),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403]
    fact = {"memories": [{"id": f"{namespace}-fact", "text": "hidden"}]}
    assert http_client.post(f"{guarded.url}/v1/long-term-memory/", json=fact, headers=headers).status_code == 200
    record = f"{guarded.url}/v1/long-term-memory/{namespace}-fact"
    refused = [
        http_client.patch(record, json={"text": "x"}, headers=headers),
        http_client.post(f"{record}/restore", json={"revision": 1}, headers=headers),
        http_client.post(f"{guarded.url}/v1/long-term-memory/forget", json={"policy": {}}, headers=headers),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403]


def test_a_filter_may_name_only_permitted_namespaces(guarded: Running, keeper: Keeper, namespace: str) -> None:
    """http W-75; what is excluded is not named."""
    headers = {"x-api-key": keeper.add("read", namespaces=(namespace,))}
    statuses = {}
    for operator, value in (("eq", namespace), ("eq", "other"), ("any", [namespace, "other"]), ("ne", "other")):
        body = {"namespace": {operator: value}}
        asked = http_client.post(f"{guarded.url}/v1/long-term-memory/search", json=body, headers=headers)
        prompt = {"query": "q", "long_term_search": body}
        prompted = http_client.post(f"{guarded.url}/v1/memory/prompt", json=prompt, headers=headers)
        statuses[operator, str(value)] = (asked.status_code, prompted.status_code)
    assert list(statuses.values()) == [(200, 200), (403, 403), (403, 403), (200, 200)]


def test_a_session_is_looked_for_in_all_that_is_permitted(guarded: Running, keeper: Keeper, namespace: str) -> None:
    """http W-14, W-75: also by who names no namespace and has several; and a memory names none that is not."""
    headers = {"x-api-key": keeper.add("read", "write", namespaces=(f"{namespace}-a", f"{namespace}-b"))}
    session = f"{guarded.url}/v1/working-memory/{namespace}"
    memory = {"id": "m", "text": "x", "namespace": "other"}
    there = {"namespace": f"{namespace}-b"}
    assert http_client.put(session, params=there, json={"memories": [memory]}, headers=headers).status_code == 403
    assert http_client.put(session, params=there, json={"context": "c"}, headers=headers).status_code == 200
    assert http_client.get(session, headers=headers).json()["namespace"] == f"{namespace}-b"
    assert http_client.put(session, json={"context": "d"}, headers=headers).status_code == 422


def test_only_the_scope_system_speaks_as_the_system(guarded: Running, keeper: Keeper, namespace: str) -> None:
    """trust I-32, http W-3: of entries, and of messages of the working-memory API."""
    plain, system = (keeper.add("write", "read", *more, namespaces=(namespace,)) for more in ((), ("system",)))
    texts = {"role": "system", "content": "Be brief."}

    def ask(method: str, path: str, token: str, body: object) -> httpx.Response:
        return http_client.request(
            method, f"{guarded.url}{path}", headers={"authorization": f"Bearer {token}"}, json=body
        )

    for entry in (texts, {**texts, "role": "user", "kind": "system_instruction"}):
        refused = ask("POST", "/v1/sessions/spoken/entries", plain, {"entries": [entry]})
        assert (refused.status_code, refused.json()["code"]) == (403, "role_not_allowed")
    assert get(guarded, "/v1/sessions/spoken/stats", plain).status_code == 404, "nothing was written"
    assert ask("POST", "/v1/sessions/spoken/entries", system, {"entries": [texts]}).status_code == 201
    assert ask("PUT", "/v1/working-memory/said", plain, {"messages": [texts]}).status_code == 403
    assert ask("PUT", "/v1/working-memory/said", system, {"messages": [texts]}).status_code == 200


def wrong_tokens(keeper: Keeper) -> dict[str, str]:
    """Return one of each kind of token that does not hold (trust I-80)."""
    token = keeper.add("read")
    revoked = keeper.add("read")
    keeper.revoke(revoked)
    forged_key, _ = new_token()
    key_id, other = new_token()
    return {
        "last character": token[:-1] + ("a" if token[-1] != "a" else "b"),
        "prefix": "xyz" + token[3:],
        "unknown key": new_token()[1],
        "foreign secret": other.replace(key_id, key_id_of(token) or ""),
        "revoked": revoked,
        "expired": keeper.add("read", expires_in_s=-1),
        "long": "mlk_" + "a" * 8000,
        "key id": forged_key,
        "not ascii": "mlk_é",
    }


async def test_every_wrong_token_is_refused_alike(guarded: Running, keeper: Keeper) -> None:
    """trust I-80: same status, body and headers, in the same time."""
    wrong = wrong_tokens(keeper)
    answers = {}
    for kind, token in wrong.items():
        answer = http_client.get(f"{guarded.url}/v1/probe/who", headers={"authorization": f"Bearer {token}".encode()})
        answers[kind] = (answer.status_code, answer.content, answer.headers["www-authenticate"])
    assert len(set(answers.values())) == 1, answers
    assert next(iter(answers.values()))[0] == 401
    assert await spread(wrong) < 0.0005


async def spread(tokens: dict[str, str]) -> float:
    """Return how much longer the dearest of *tokens* takes than the cheapest, in CPU time at its best of many."""

    async def find(key_id: str) -> FoundToken | None:
        return known.get(key_id)

    known = {
        key_id_of(token): FoundToken(
            token_hash=bytes(32), name="ann", scopes=(), namespaces=None, expires_at=None, revoked_at=None
        )
        for token in list(tokens.values())[::2]
    }
    scheme = authentication.TokenScheme(find, SystemClock())
    best = dict.fromkeys(tokens, float("inf"))
    for _ in range(200):
        for kind, token in tokens.items():
            began = time.thread_time()
            assert await scheme.caller(token) is None
            best[kind] = min(best[kind], time.thread_time() - began)
    return max(best.values()) - min(best.values())


async def test_what_has_not_the_form_of_a_token_is_not_looked_up() -> None:
    async def find(key_id: str) -> FoundToken | None:
        raise AssertionError(f"{key_id!r} is looked up")

    scheme = authentication.TokenScheme(find, SystemClock())
    for wrong in ("", "nonsense", new_token()[1] + "x", "mlk_" + "a" * 63):
        assert await scheme.caller(wrong) is None
    with pytest.raises(AssertionError, match="looked up"):
        await scheme.caller(new_token()[1])


async def test_a_token_that_takes_longer_to_refuse_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a slow hash, but only of what has the form of a token."""

    def hash_of(token: str) -> bytes:
        rounds = 3_000 if key_id_of(token) else 1
        return hashlib.pbkdf2_hmac("sha256", token.encode(), b"", rounds)

    monkeypatch.setattr(authentication, "hash_of", hash_of)
    assert await spread({"known form": new_token()[1], "nonsense": "nonsense"}) > 0.0005


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Basic YTpi"},
        {"authorization": "Bearer"},
        {"authorization": ""},
        {"x-api-key": ""},
    ],
)
def test_a_missing_credential_is_refused_like_a_wrong_one(guarded: Running, headers: dict[str, str]) -> None:
    answer = http_client.get(f"{guarded.url}/v1/probe/who", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_two_credentials_are_refused(guarded: Running, keeper: Keeper) -> None:
    token = keeper.add("read")
    assert get(guarded, "/v1/probe/who", token, **{"x-api-key": token}).status_code == 401


def test_the_body_of_an_unknown_caller_is_not_read(guarded: Running) -> None:
    """trust S-4: 401 comes before 422."""
    answer = http_client.post(
        f"{guarded.url}/v1/probe", content=b"nonsense", headers={"content-type": "application/json"}
    )
    assert answer.status_code == 401
    assert http_client.get(f"{guarded.url}/v1/probe/list?limit=x").status_code == 401


def test_a_revoked_token_is_out_within_five_seconds(
    guarded: Running, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trust S-2; the wait itself is made short, its length is a constant."""
    assert authentication.CACHED_S < 5
    monkeypatch.setattr(authentication, "CACHED_S", 0.2)
    token = keeper.add("read")
    assert get(guarded, "/v1/probe/who", token).status_code == 200
    keeper.revoke(token)
    time.sleep(0.25)
    assert get(guarded, "/v1/probe/who", token).status_code == 401


def test_health_is_open(guarded: Running) -> None:
    """http W-74."""
    assert get(guarded, "/v1/health").status_code == 200
    assert get(guarded, "/healthz").status_code == 204


def test_a_token_that_cannot_be_looked_up_is_503(keeper: Keeper, server: Server, fresh_database: str) -> None:
    """http W-5: a database that is away refuses nobody for good."""
    with running(server.target(fresh_database), auth_mode="token") as in_flight:
        with server.superuser(fresh_database) as mighty:
            mighty.execute("ALTER TABLE ledger.api_tokens RENAME TO away")
        answer = get(in_flight, "/v1/probe/who", new_token()[1])
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
