"""Hostile requests, byte by byte (trust §9, Transport): one clear answer, never a 5xx."""

import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support.patience import within
from tests.support.wire import Answer, connected, exchange, head, receive

JSON = "Content-Type: application/json"
STATS = "/v1/sessions"
OIDC = {"auth_mode": "oidc", "oidc_issuer": "a", "oidc_audience": "b", "oidc_hmac_key": "k" * 32}


@pytest.fixture(scope="module")
def hasty() -> Iterator[Running]:
    """A service that waits a second for a request."""
    with running(InMemoryStore(), receive_timeout_s=1.0) as in_flight:
        yield in_flight


def asked(
    service: Running, *lines: str, path: str = STATS, method: str = "GET", host: str | None = "localhost"
) -> Answer:
    return exchange(service, head(method, path, *lines, host=host))


def test_an_ordinary_request_passes(service: Running) -> None:
    """Control of all that follow."""
    answer = asked(service)
    assert answer.status == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    assert answer.headers["content-security-policy"] == policy
    assert "server" not in answer.headers


def test_a_chunked_body_is_refused_at_the_limit(service: Running) -> None:
    """trust I-18."""
    chunk = b"%x\r\n" % 65536 + b"x" * 65536 + b"\r\n"
    began = time.monotonic()
    answer = exchange(service, head("POST", "/v1/probe", JSON, "Transfer-Encoding: chunked"), *[chunk] * 320)
    assert (answer.status, answer.code) == (413, "too_large")
    assert answer.json["limit"] == 8 * 1024 * 1024
    assert answer.closed
    assert time.monotonic() - began < within(5)


def test_a_body_whose_length_is_over_the_limit_is_refused_before_it_comes(service: Running) -> None:
    """trust I-16, I-17."""
    answer = exchange(service, head("POST", "/v1/probe", JSON, "Content-Length: 50000000"), b"x" * 1_000_000)
    assert (answer.status, answer.code, answer.closed) == (413, "too_large", True)


def test_a_body_that_stops_is_refused_in_time(hasty: Running) -> None:
    """trust I-19."""
    began = time.monotonic()
    answer = exchange(hasty, head("POST", "/v1/probe", JSON, "Content-Length: 10"), b'{"a":')
    assert (answer.status, answer.code) == (408, "timeout")
    assert answer.closed
    assert 0.9 < time.monotonic() - began < within(5)


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [("/v1/" + "a" * 60_000, 0, 414, "path_too_long"), (STATS, 60_000, 431, "headers_too_large")],
)
def test_a_head_that_is_too_large_is_refused_alike_in_one_piece_and_in_several(
    service: Running, path: str, headers: int, status: int, code: str
) -> None:
    """trust I-21, I-38."""
    whole = head("GET", path, *(["X-Long: " + "a" * headers] if headers else []))
    for first in (len(whole), 30_000):
        with connected(service) as sock:
            sock.sendall(whole[:first])
            time.sleep(0.1)
            with suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(whole[first:])
            answer = receive(sock)
        assert (answer.status, answer.code) == (status, code), first


def test_slow_headers_are_closed_in_time(hasty: Running) -> None:
    """trust I-20: each byte restarts nothing."""
    began = time.monotonic()
    with connected(hasty) as sock:
        for byte in head("GET", STATS):
            try:
                sock.sendall(bytes([byte]))
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(0.2)
            if time.monotonic() - began > 1.4:
                break
        answer = receive(sock)
    assert (answer.status, answer.code, answer.closed) == (408, "timeout", True)
    assert time.monotonic() - began < within(3)


def test_a_part_of_a_request_behind_a_whole_one_has_its_own_time(hasty: Running) -> None:
    """trust I-20; without its own timer it has the time of an idle connection."""
    with connected(hasty) as sock:
        sock.sendall(head("GET", STATS) + head("GET", STATS)[:20])
        began = time.monotonic()
        while sock.recv(4096):
            pass
    assert time.monotonic() - began < within(3)


def test_a_silent_connection_is_closed(hasty: Running) -> None:
    """trust I-20."""
    with connected(hasty) as sock:
        assert sock.recv(1) == b""


def test_a_large_header_is_refused(service: Running) -> None:
    """trust I-21: also when it arrives whole, and when it never ends."""
    answer = asked(service, f"X-Large: {'x' * 100_000}")
    assert (answer.status, answer.code) == (431, "headers_too_large")
    answer = exchange(service, b"GET / HTTP/1.1\r\nX-Endless: ", *[b"x" * 65536] * 4)
    assert (answer.status, answer.closed) == (431, True)
    answer = asked(service, *[f"X-{number}: {'x' * 100}" for number in range(200)])
    assert answer.status == 431


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 2", "Transfer-Encoding: chunked"),  # trust I-22
        ("Transfer-Encoding: chunked", "Content-Length: 2"),
        ("Content-Length: 2", "Content-Length: 3"),  # trust I-23
        ("Content-Length: -1",),
        ("Content-Length: 1e3",),
        ("Transfer-Encoding: gzip, chunked", "Content-Length: 5"),
        ("Host: other",),
        ("X-Bad: a\x00b",),
        ("Idempotency-Key: a\nb",),  # trust I-48
    ],
)
def test_a_request_with_two_meanings_is_refused(service: Running, lines: tuple[str, ...]) -> None:
    """trust I-22, I-23."""
    answer = exchange(service, head("POST", "/v1/probe", JSON, *lines), b"{}")
    assert answer.status == 400, answer
    assert "x-probe" not in answer.headers


@pytest.mark.parametrize("host", ["x/evil?a", "", "a b", "ü", "a:b", "[::1", "evil@good", None])
def test_a_bad_host_is_refused(service: Running, host: str | None) -> None:
    """trust I-24."""
    answer = asked(service, host=host)
    assert (answer.status, answer.code) == (400, "bad_host")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"])
def test_without_authentication_only_this_machine_is_a_host(service: Running, host: str) -> None:
    """Not a page whose name an attacker made to lead here."""
    assert asked(service, host=host).status == 200
    assert asked(service, host=f"evil.{host}.example").code == "bad_host"
    with running(InMemoryStore(), **OIDC) as guarded:
        assert asked(guarded, host="memory.example").status == 401


@pytest.mark.parametrize(
    "line",
    ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"],
)
def test_without_authentication_no_other_page_writes(service: Running, line: str) -> None:
    """A browser sends such a POST without asking first."""
    for path in ("/v1/probe", "/v1/sessions/s/clear"):
        answer = asked(service, line, method="POST", path=path)
        assert (answer.status, answer.code) == (403, "foreign_origin")
    assert asked(service, line).status == 200
    with running(InMemoryStore(), **OIDC) as guarded:
        assert asked(guarded, line, method="POST", path="/v1/probe").status == 401


@pytest.mark.parametrize(
    "line", ["Accept: */*", "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded"]
)
def test_without_authentication_a_post_says_that_it_is_json_also_without_a_body(service: Running, line: str) -> None:
    """A form of another page cannot: a browser would ask first."""
    answer = asked(service, line, method="POST", path="/v1/sessions/never-opened/clear")
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert asked(service, JSON, method="POST", path="/v1/sessions/never-opened/clear").status == 404
    with running(InMemoryStore(), **OIDC) as guarded:
        assert asked(guarded, line, method="POST", path="/v1/probe").status == 401


def test_the_own_page_may_write(service: Running) -> None:
    own = ("Origin: http://localhost", "Sec-Fetch-Site: same-origin", "Content-Length: 2", JSON)
    assert exchange(service, head("POST", "/v1/probe", *own), b"{}").status == 200


def test_only_the_hosts_of_the_settings_are_served() -> None:
    """trust S-10."""
    with running(InMemoryStore(), allowed_hosts="memory.example,localhost") as in_flight:
        assert asked(in_flight, host="evil.example").code == "bad_host"
        for host in ("memory.example", "MEMORY.example:8000", "localhost"):
            assert asked(in_flight, host=host).status == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/sessions/%00/stats", 422),  # trust I-37
        ("/v1/sessions/%ff/stats", 422),
        ("/v1/sessions/a%2Fb/stats", 404),  # trust I-36
        ("/v1/sessions/%2e%2e%2fx/stats", 404),
        ("/v1/sessions/%2e%2e/stats", 422),
        ("/v1/sessions/%252e/stats", 404),  # decoded once: the name is "%2e"
        ("/v1/sessions/../../etc/passwd", 404),
        ("/v1/sessions/a%5Cb/stats", 422),
        (f"/v1/sessions/{'x' * 60_000}/stats", 414),  # trust I-38
        (f"/v1/sessions/{'x' * 256}/stats", 422),
        ("/v1/sessions/s/stats/", 404),  # http W-1
        ("//v1/sessions/s/stats", 404),
        ("/v1/sessions//stats", 404),
        (f"{STATS}?user_id=%00", 422),
        (f"{STATS}?user_id=%ff", 422),
        (f"{STATS}?nonsense=1", 422),
        (f"{STATS}?user_id=a&user_id=b", 422),  # trust I-41
    ],
)
def test_paths_are_read_byte_for_byte(service: Running, path: str, status: int) -> None:
    answer = asked(service, path=path)
    assert answer.status == status, answer.body
    assert "�" not in answer.body.decode()


def test_a_slash_in_an_id_of_the_working_memory_api_is_its_404(service: Running) -> None:
    """http W-2, C24."""
    for path in ("/v1/working-memory/a/b", "/v1/working-memory/a%2Fb"):
        answer = asked(service, path=path)
        assert (answer.status, answer.json) == (404, {"detail": "Not Found"})


def test_the_other_slash_form_is_redirected(service: Running) -> None:
    """http W-1, C24."""
    answer = asked(service, path="/v1/working-memory?limit=5&namespace=a")
    assert (answer.status, answer.headers["location"]) == (307, "/v1/working-memory/?limit=5&namespace=a")
    answer = asked(service, JSON, "Content-Length: 0", path="/v1/long-term-memory", method="POST")
    assert (answer.status, answer.headers["location"]) == (307, "/v1/long-term-memory/")


@pytest.mark.parametrize(
    ("method", "lines", "statuses"),
    [
        ("TRACE", (), {405}),
        ("GET", ("X-HTTP-Method-Override: DELETE",), {400}),
        ("GET", ("Content-Length: 2",), {400}),
        ("HEAD", (), {405}),
        ("DELETE", (), {405}),
        ("BREW", (), {400}),
    ],
)
def test_a_method_cannot_be_overridden(
    service: Running, method: str, lines: tuple[str, ...], statuses: set[int]
) -> None:
    """trust I-82."""
    with connected(service) as sock:
        sock.sendall(head(method, STATS, *lines) + (b"{}" if "Content-Length: 2" in lines else b""))
        assert int(sock.recv(4096).split(b" ")[1]) in statuses


def test_pipelined_requests_are_answered_in_order(service: Running) -> None:
    with connected(service) as sock:
        sock.sendall(head("GET", STATS) + head("GET", "/v1/sessions/../stats"))
        data = b""
        while data.count(b"HTTP/1.1 ") < 2:
            piece = sock.recv(65536)
            assert piece, data
            data += piece
    assert [int(each[:3]) for each in data.split(b"HTTP/1.1 ")[1:]] == [200, 422]


def test_a_connection_lives_on_after_a_refusal(service: Running) -> None:
    with connected(service) as sock:
        for status in (422, 200, 404):
            path = {422: "/v1/sessions/%00/stats", 200: STATS, 404: "/nowhere"}[status]
            sock.sendall(head("GET", path))
            answer = receive(sock)
            assert answer.status == status


def test_errors_show_neither_values_nor_messages_of_the_database(api: httpx.Client) -> None:
    """trust N-13."""
    answer = api.get("/v1/sessions/geheim%01/stats", params={"user_id": "geheim"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "bad_name"
    assert "geheim" not in answer.text


REMOTE = {
    "x-forwarded-for": ["203.0.113.9", "127.0.0.1, 203.0.113.9", "unknown", "::ffff:203.0.113.9", "[2001:db8::1]:4711"],
    "forwarded": [
        "for=203.0.113.9",
        'for="[2001:db8::1]:4711";proto=https',
        "for=127.0.0.1, for=_hidden",
        "proto=https",
    ],
    "x-real-ip": ["203.0.113.9"],
    "x-forwarded-host": ["memory.example.com"],
}
LOCAL = {
    "x-forwarded-for": ["127.0.0.1", "::1", "127.0.0.1:4711", "127.0.0.1, ::ffff:127.0.0.1"],
    "forwarded": ['for=127.0.0.1;proto=http, for="[::1]:80"'],
    "x-forwarded-host": ["localhost:8000"],
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REMOTE.items() for value in values])
def test_a_client_elsewhere_is_not_answered_through_a_proxy_without_authentication__S_10(
    service: Running, method: str, name: str, value: str
) -> None:
    """A proxy on this machine asks a loopback name for whoever asked it."""
    asked = httpx.request(
        method, f"{service.url}/v1/sessions", headers={name: value, "content-type": "application/json"}
    )
    assert (asked.status_code, asked.json()["code"]) == (403, "forwarded"), asked.text
    assert "MEMORY_LEDGER_AUTH_MODE" in asked.text


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in LOCAL.items() for value in values])
def test_a_proxy_for_this_machine_is_answered__S_10(service: Running, name: str, value: str) -> None:
    assert httpx.get(f"{service.url}/v1/sessions", headers={name: value}).status_code == 200


def test_an_operator_who_names_the_hosts_lets_a_proxy_in__S_10() -> None:
    with running(InMemoryStore(), worker=False, allowed_hosts="memory.example.com") as named:
        headers = {"x-forwarded-for": "203.0.113.9", "host": "memory.example.com"}
        assert httpx.get(f"{named.url}/v1/sessions", headers=headers).status_code == 200
