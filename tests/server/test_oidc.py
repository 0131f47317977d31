"""JWTs, strictly (trust S-3, I-79), and where their keys may come from (trust I-78)."""

import base64
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ledger.errors import InvalidInput, Unavailable
from ledger.events.clock import SystemClock
from ledger.server.access import oidc
from ledger.server.access.safe_fetch import fetch
from ledger.server.service_settings import ServiceSettings, load_service_settings
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client

ISSUER = "https://issuer.example"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
SECRET = "a shared key of more than 32 bytes"


class Issuer:
    """Publishes keys on a loopback port."""

    def __init__(self) -> None:
        self.status = 200
        self.asked = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(issuer.status)
                if issuer.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(issuer.document())

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/jwks"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def document(self) -> bytes:
        keys = [
            {**jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True), "kid": "rsa", "use": "sig"},
            {**jwt.algorithms.ECAlgorithm.to_jwk(CURVE.public_key(), as_dict=True), "kid": "ec", "alg": "ES256"},
            {"kty": "RSA", "kid": "malformed", "n": "!", "e": "AQAB"},  # spoils itself only
            {"kty": "RSA", "kid": ["malformed"], "n": "AQAB", "e": "AQAB"},
            {"kty": "oct", "kid": "oct", "k": base64.urlsafe_b64encode(SECRET.encode()).decode()},
        ]
        return json.dumps({"keys": keys}).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.close()


def oidc_service(url: str, **settings: object) -> Any:
    known = {"auth_mode": "oidc", "oidc_issuer": ISSUER, "oidc_audience": "ledger", "oidc_private_networks": True}
    return running(InMemoryStore(), **{**known, "oidc_jwks_url": url, **settings})


@pytest.fixture(scope="module")
def service(issuer: Issuer) -> Iterator[Running]:
    with oidc_service(issuer.url) as item:
        yield item


def claims(**changed: object) -> dict[str, object]:
    now = int(SystemClock().now().timestamp())
    known = {
        "iss": ISSUER,
        "aud": "ledger",
        "sub": "auth0|ann",
        "iat": now,
        "exp": now + 600,
        "scope": "openid read write",
        "memory_ledger_namespaces": ["ours"],
    }
    return {name: value for name, value in {**known, **changed}.items() if value is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", kid: object = "rsa", **changed: object) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers={"kid": kid})  # type: ignore[dict-item]


def get(service: Running, token: str) -> httpx.Response:
    return http_client.get(f"{service.url}/v1/probe/who", headers={"authorization": f"Bearer {token}"})


def forged(header: dict[str, object], payload: dict[str, object], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(payload).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def swapped(public: bytes) -> str:
    """Return a token signed with the published key as if it were a shared secret."""
    unsigned = forged({"alg": "HS256", "typ": "JWT", "kid": "rsa"}, claims()).rpartition(".")[0]
    signature = hmac.digest(public, unsigned.encode(), "sha256")
    return f"{unsigned}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_a_valid_token_identifies_its_caller(service: Running) -> None:
    for token in (signed(), signed(CURVE, "ES256", "ec")):
        assert get(service, token).json() == {
            "actor": "auth0|ann",
            "scopes": ["read", "write"],
            "namespaces": ["ours"],
            "namespace": "ours",
        }
    everywhere = get(service, signed(memory_ledger_namespaces=["*"], scope=["admin"])).json()
    assert (everywhere["namespaces"], everywhere["scopes"]) == (None, ["admin"])


def test_a_subject_may_contain_slashes(service: Running) -> None:
    subject = "repo:us/agents:ref:refs/heads/main"
    assert get(service, signed(sub=subject)).json()["actor"] == subject
    headers = {"authorization": f"Bearer {signed(sub=subject)}"}
    said = {"entries": [{"role": "user", "content": "hello"}]}
    url = f"{service.url}/v1/sessions/s"
    assert http_client.post(f"{url}/entries", json=said, headers=headers).status_code == 201
    assert http_client.get(f"{url}/events", headers=headers).json()["events"][0]["actor"] == subject


def test_a_token_without_namespaces_is_valid_for_none(service: Running) -> None:
    answer = get(service, signed(memory_ledger_namespaces=None))
    assert answer.json()["code"] == "namespace_needed"


def bad_tokens() -> dict[str, str]:
    """Return one of each kind that does not hold (trust I-79)."""
    now = int(SystemClock().now().timestamp())
    public = jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key())
    good = signed()
    return {
        "none": forged({"alg": "none", "typ": "JWT", "kid": "rsa"}, claims()),
        "RS for HS": swapped(public.encode()),
        "RS for HS, PEM": swapped(RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
        "published secret": jwt.encode(claims(), SECRET, algorithm="HS256", headers={"kid": "oct"}),
        "signature not allowed": signed(algorithm="RS512"),
        "no exp": signed(exp=None),
        "no iat": signed(iat=None),
        "no sub": signed(sub=None),
        "no aud": signed(aud=None),
        "no iss": signed(iss=None),
        "far exp": signed(exp=10**18),
        "long life": signed(exp=now + 90_000),
        "expired": signed(exp=now - 60, iat=now - 600),
        "from the future": signed(iat=now + 600, exp=now + 900),
        "wrong aud": signed(aud="other"),
        "wrong iss": signed(iss="https://evil.example"),
        "other key": signed(OTHER),
        "unknown kid": signed(kid="../../dev/null"),
        "huge kid": signed(kid="k" * 1000),
        "no kid": jwt.encode(claims(), RSA, algorithm="RS256"),
        "kid is no text": forged({"alg": "RS256", "typ": "JWT", "kid": ["rsa"]}, claims()),
        "own jwk": jwt.encode(claims(), OTHER, algorithm="RS256", headers={"kid": "x", "jwk": json.loads(public)}),
        "own url": jwt.encode(claims(), OTHER, algorithm="RS256", headers={"kid": "x", "jku": "http://evil.example/"}),
        "crit": jwt.encode(claims(), RSA, algorithm="RS256", headers={"kid": "rsa", "crit": ["x"], "x": 1}),
        "8 KB": signed(filler="x" * 8192),
        "cut": good[:-5],
        "changed": good[:-2] + ("AA" if not good.endswith("AA") else "BB"),
        "bad sub": signed(sub="a\nb"),
        "empty sub": signed(sub=""),
        "namespaces no list": signed(memory_ledger_namespaces="*"),
        "not base64": "a.b.c",
    }


def test_every_bad_token_is_refused_alike(service: Running) -> None:
    """trust I-79: 401 and a constant text."""
    answers = {kind: get(service, token) for kind, token in bad_tokens().items()}
    assert {kind: answer.status_code for kind, answer in answers.items() if answer.status_code != 401} == {}
    assert len({answer.content for answer in answers.values()}) == 1


def test_unknown_keys_do_not_make_us_ask_without_end(service: Running, issuer: Issuer) -> None:
    get(service, signed())
    before = issuer.asked
    for number in range(20):
        get(service, signed(kid=f"unknown-{number}"))
    assert issuer.asked - before <= 1


@pytest.mark.parametrize("status", [500, 302])
def test_keys_that_cannot_be_read_are_503(status: int) -> None:
    """http W-74; a redirect is not followed (trust I-78)."""
    issuer = Issuer()
    issuer.status = status
    try:
        with oidc_service(issuer.url) as item:
            answer = get(item, signed())
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert issuer.asked == 1
    finally:
        issuer.close()


def test_a_shared_key_checks_tokens_too() -> None:
    with oidc_service("", oidc_jwks_url=None, oidc_hmac_key=SECRET) as item:
        good = jwt.encode(claims(), SECRET, algorithm="HS256")
        assert get(item, good).status_code == 200
        assert get(item, jwt.encode(claims(), SECRET + "x", algorithm="HS256")).status_code == 401
        assert get(item, signed()).status_code == 401


def published_keys(settings: ServiceSettings) -> oidc.PublishedKeys:
    return oidc.PublishedKeys(
        str(settings.oidc_jwks_url),
        algorithms=settings.oidc_algorithms,
        private_networks=settings.oidc_private_networks,
    )


def test_the_settings_of_the_next_test_are_safe_unchanged() -> None:
    """Control."""
    known = {"oidc_issuer": ISSUER, "oidc_audience": "ledger", "oidc_jwks_url": "https://issuer.example/jwks"}
    assert published_keys(load_service_settings(auth_mode="oidc", **known))


@pytest.mark.parametrize(
    "settings",
    [
        {"oidc_hmac_key": "short", "oidc_jwks_url": None},  # trust I-79: a short key stops the start
        {"oidc_jwks_url": None},
        {"oidc_issuer": None},
        {"oidc_audience": None},
        {"oidc_hmac_key": SECRET},
        {"oidc_algorithms": "HS256"},
        {"oidc_algorithms": "none"},
        {"oidc_jwks_url": "file:///etc/passwd"},
        {"oidc_jwks_url": "http://issuer.example/jwks", "oidc_private_networks": False},
    ],
)
def test_settings_that_are_not_safe_stop_the_start(settings: dict[str, object]) -> None:
    known = {"oidc_issuer": ISSUER, "oidc_audience": "ledger", "oidc_jwks_url": "https://issuer.example/jwks"}
    chosen = {"auth_mode": "oidc", "oidc_private_networks": True, **known, **settings}
    with pytest.raises(InvalidInput) as refused:
        published_keys(load_service_settings(**chosen))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"]
)
async def test_no_url_leads_into_a_private_network(host: str) -> None:
    """trust I-78, S-11."""
    with pytest.raises(InvalidInput, match="private network"):
        await fetch(f"https://{host}/jwks")


@pytest.mark.parametrize(
    "url", ["http://a.example", "file:///etc/passwd", "https://", "https://u:p@a.example", "gopher:x"]
)
async def test_only_https_is_fetched(url: str) -> None:
    """trust I-78."""
    with pytest.raises(InvalidInput, match="https"):
        await fetch(url)


async def test_a_document_without_end_is_given_up(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.server.access.safe_fetch.MAX_BYTES", 10)
    with pytest.raises(Unavailable):
        await fetch(issuer.url, private_networks=True)
