"""Nobody takes the places of everybody: streams, slow bodies, one caller, probes of health. Source: trust S-7, S-2."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import jwt
import pytest

from ledger.errors import RateLimited, Unavailable
from ledger.events.clock import SystemClock
from ledger.server import authentication
from ledger.server.native import server_sent_events
from ledger.server.service_settings import load_service_settings
from ledger.server.traffic.slots import Slot, Slots
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.patience import within
from tests.support.token_keeper import Keeper

KEY = "k" * 32


def status(service: Running, path: str, **headers: str) -> int:
    return http_client.get(f"{service.url}{path}", headers=headers).status_code


@contextmanager
def asking(service: Running, *tokens: str | None) -> Iterator[None]:
    """Have one slow request under way for each of *tokens*, again and again."""
    over = threading.Event()

    def ask(headers: dict[str, str]) -> None:
        while not over.is_set():
            status(service, "/v1/probe/slow", **headers)

    headers = [{} if token is None else {"authorization": f"Bearer {token}"} for token in tokens]
    threads = [threading.Thread(target=ask, args=(each,)) for each in headers]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def until(expected: int, service: Running, path: str, **headers: str) -> None:
    """Ask until the status is *expected*: between two slow requests a place is free for a moment."""
    deadline = time.monotonic() + 10
    while status(service, path, **headers) != expected:
        assert time.monotonic() < deadline


def test_streams_take_no_places_of_requests() -> None:
    with running(InMemoryStore(), max_concurrency=2) as service, ExitStack() as streams:
        for _ in range(4):
            answer = streams.enter_context(http_client.stream("GET", f"{service.url}/v1/events/stream"))
            assert answer.status_code == 200
        assert status(service, "/v1/sessions") == 200


def test_slow_bodies_take_no_places_of_requests() -> None:
    with running(InMemoryStore(), max_concurrency=2) as service, ExitStack() as slow:
        for number in range(3):
            connection = slow.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            head = "PUT /v1/working-memory/s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json"
            connection.sendall(f"{head}\r\ncontent-length: 100\r\n\r\n{{".encode())
            time.sleep(0.2)
            if number == 2:
                assert b"503" in connection.recv(100)
        assert status(service, "/v1/sessions") == 200
        whole = slow.enter_context(socket.create_connection(("127.0.0.1", service.port)))
        whole.sendall(f'{head}\r\ncontent-length: 15\r\n\r\n{{"messages":[]}}'.encode())  # in one piece
        assert b" 200 " in whole.recv(100)


def test_probes_of_health_have_places_of_their_own() -> None:
    with running(InMemoryStore(), max_concurrency=2) as service, asking(service, None, None):
        until(503, service, "/v1/sessions")
        for path in ("/v1/health", "/healthz", "/readyz"):
            assert status(service, path) in {200, 204}


def token_of(subject: str) -> str:
    now_s = int(SystemClock().now().timestamp())
    claims = {"iss": "a", "aud": "b", "sub": subject, "iat": now_s, "exp": now_s + 600, "scope": "read write"}
    return jwt.encode({**claims, "memory_ledger_namespaces": ["*"]}, KEY, algorithm="HS256")


def test_a_caller_gets_half_of_the_places() -> None:
    oidc = {"auth_mode": "oidc", "oidc_issuer": "a", "oidc_audience": "b", "oidc_hmac_key": KEY}
    with running(InMemoryStore(), max_concurrency=4, **oidc) as service:
        ann, bob = ({"authorization": f"Bearer {token_of(name)}"} for name in ("ann", "bob"))
        with asking(service, token_of("ann"), token_of("ann")):
            until(429, service, "/v1/sessions", **ann)
            assert status(service, "/v1/sessions", **bob) == 200
        assert status(service, "/v1/sessions", **ann) == 200


def test_places_are_given_back() -> None:
    slots = Slots(load_service_settings(max_concurrency=2))
    with Slot(slots, "arriving") as slot:
        slot.assign("ann")
        with Slot(slots, "arriving") as other, pytest.raises(RateLimited):
            other.assign("ann")
        slot.move("working")
        slot.move("stream")
        with Slot(slots, "working"), Slot(slots, "working"), pytest.raises(Unavailable):
            slot.move("working")
        assert slot.kind == "stream"
    assert not slots._taken


@pytest.mark.postgres
def test_a_stream_ends_when_its_token_is_revoked(
    server: Server, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "CACHED_S", 0.1)
    monkeypatch.setattr(server_sent_events, "CHECK_S", 0.1)
    monkeypatch.setattr(server_sent_events, "COMMENT_S", 0.3)
    keeper = Keeper(server.database(shared_database))
    token = keeper.add("read")
    with running(server.target(shared_database), auth_mode="token") as service:
        url, headers = f"{service.url}/v1/events/stream", {"authorization": f"Bearer {token}"}
        params = {"namespace": "followed-until-revoked"}
        with httpx.stream("GET", url, headers=headers, params=params, timeout=5) as answer:
            lines = answer.iter_lines()
            assert [line for line, _ in zip(lines, range(4), strict=False)].count(": waiting") == 1
            keeper.revoke(token)
            assert len(list(lines)) < 20


@pytest.mark.full
@pytest.mark.postgres
def test_a_stream_ends_within_5_seconds_of_the_revocation_while_others_use_the_token__S_2(
    server: Server, shared_database: str
) -> None:
    """The cache is filled again and again, right before the revocation, too."""
    keeper = Keeper(server.database(shared_database))
    token = keeper.add("read")
    with running(server.target(shared_database), auth_mode="token") as service:
        url, headers = f"{service.url}/v1/events/stream", {"authorization": f"Bearer {token}"}
        params = {"namespace": "followed-until-revoked-in-use"}
        with httpx.stream("GET", url, headers=headers, params=params, timeout=20) as answer:
            lines = answer.iter_lines()
            next(lines)
            for _ in range(30):
                httpx.get(f"{service.url}/v1/sessions", headers=headers, params=params)
                time.sleep(0.1)
            keeper.revoke(token)
            revoked = time.monotonic()
            list(lines)
    assert time.monotonic() - revoked < within(5)
    assert authentication.CACHED_S + 2 * server_sent_events.CHECK_S < 5, "with as much again to be late"
