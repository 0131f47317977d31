"""A login in a browser: a cookie that may only read, and nothing that a page of another origin could use.

Source: viewer U-40, U-41, U-42, U-51.
"""

import base64
import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import httpx
import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from ledger.application.services import Services
from ledger.errors import InvalidInput, NotAuthenticated, NotPermitted
from ledger.events.clock import SystemClock
from ledger.server import Service, authentication, create_app, load_service_settings
from ledger.server.access import browser_login, grants
from ledger.server.access.callers import Caller
from ledger.server.access.grants import Grant, GrantSeal
from ledger.server.access.reading_routes import only_reads
from ledger.server.http.openapi_security import required_scope
from ledger.server.http.problems import dialect_of
from ledger.server.notifier import Notifier
from ledger.server.traffic.quotas import Quotas
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.browser import OIDC, Browser, a_jwt
from tests.support.databases import Server
from tests.support.token_keeper import Keeper

KEY = "a key for the cookies of these tests"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    """A service that wants JWTs."""
    with running(InMemoryStore(), ui_key=KEY, **OIDC) as in_flight:
        yield in_flight


@pytest.fixture
def browser(guarded: Running) -> Browser:
    """A browser that is logged in, with a credential that may do more than read."""
    browser = Browser(guarded)
    assert browser.log_in(a_jwt("read", "write", "admin")).status_code == 200
    return browser


def unpacked(text: str) -> bytes:
    """Return what *text* is in base 64 without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "") if answer.content and answer.status_code >= 400 else ""


def test_a_login_reads(browser: Browser) -> None:
    """Control of all that follow."""
    assert code(browser.send("GET", "/v1/sessions")) == (200, "")
    assert code(browser.send("POST", "/v1/search", body={"query": "q"})) == (200, "")
    assert code(browser.send("POST", "/v1/config/check", body={"config": {}})) == (200, "")
    assert code(browser.send("POST", "/v1/long-term-memory/search", body={"text": "q"})) == (200, "")
    assert browser.send("GET", "/v1/probe/who").json()["scopes"] == ["read"]
    assert browser.send("GET", "/v1/probe/who").json()["actor"] == "ann"


def test_the_cookie_is_strict_and_holds_no_credential(guarded: Running) -> None:
    """trust S-10."""
    token = a_jwt("read", lasts_s=600)
    answer = Browser(guarded).log_in(token)
    name, *attributes = answer.headers["set-cookie"].split("; ")
    port = guarded.port
    assert name.startswith(f"mledger_{port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes
    assert token not in answer.headers["set-cookie"]
    content = unpacked(name.partition("=")[2].partition(".")[0])
    assert token.encode() not in content
    assert json.loads(content)[0] == "jwt:ann"
    end = datetime.fromisoformat(answer.json()["expires_at"])
    assert end <= SystemClock().now() + timedelta(seconds=600), "not after the credential"


def test_the_cookie_is_secure_behind_tls_and_lies_below_the_prefix_of_a_proxy(guarded: Running) -> None:
    browser = Browser(guarded)
    body = {"token": a_jwt("read"), "path": "/tools/ledger/"}
    answer = browser.send("POST", "/ui/login", body=body, origin="https://ledger.example")
    assert {"Secure", "Path=/tools/ledger/"} <= set(answer.headers["set-cookie"].split("; "))
    for path in ("tools", "/a;b/", "/a", "/a b/", "//; Domain=x/"):
        answer = browser.send("POST", "/ui/login", body={"token": a_jwt("read"), "path": path})
        assert code(answer) == (422, "bad_path")
        assert "set-cookie" not in answer.headers


def test_a_login_lasts_twelve_hours_at_most() -> None:
    now = SystemClock().now()
    caller = Caller("ann", frozenset({"read"}), None, "token:k")
    assert Grant.to(caller, now=now).expires_at - now <= grants.LONGEST
    with pytest.raises(NotAuthenticated):
        Grant.to(Caller("ann", frozenset({"read"}), None, "token:k", expires_at=now), now=now)
    with pytest.raises(NotPermitted, match="read"):
        Grant.to(Caller("ann", frozenset({"write"}), None, "token:k"), now=now)
    many = frozenset(f"namespace-{number:03}" for number in range(400))
    with pytest.raises(NotPermitted, match="too many namespaces"):
        GrantSeal(b"k").sealed(Grant.to(Caller("ann", frozenset({"read"}), many, "token:k"), now=now))


FOREIGN = {
    "another site": {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
    "another port": {"sec_fetch_site": "same-site", "origin": "http://127.0.0.1:1"},
    "an older browser": {"sec_fetch_site": None, "origin": "http://127.0.0.1:1"},
    "a form": {"sec_fetch_site": "cross-site", "origin": "null"},
    "nothing said": {"sec_fetch_site": None, "origin": None},
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_post_of_another_page_is_refused_with_the_token_too(browser: Browser, kind: str) -> None:
    assert code(browser.send("POST", "/v1/search", body={"query": "q"}, **FOREIGN[kind])) == (403, "foreign_origin")
    assert code(browser.send("POST", "/ui/logout", body={}, **FOREIGN[kind])) == (403, "foreign_origin")


@pytest.mark.parametrize("kind", FOREIGN)
def test_another_page_cannot_log_in(guarded: Running, kind: str) -> None:
    answer = Browser(guarded).log_in(a_jwt("read"), **FOREIGN[kind])
    assert code(answer) == (403, "foreign_origin")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("kind", ["another site", "another port", "an older browser"])
def test_a_get_of_another_page_is_refused(browser: Browser, kind: str) -> None:
    assert code(browser.send("GET", "/v1/sessions", **FOREIGN[kind])) == (403, "foreign_origin")


def test_a_browser_that_says_only_its_origin_may_read(browser: Browser) -> None:
    assert browser.send("POST", "/v1/search", body={"query": "q"}, sec_fetch_site=None).status_code == 200
    assert browser.send("GET", "/v1/sessions", sec_fetch_site=None).status_code == 200
    assert browser.send("GET", "/v1/sessions", sec_fetch_site="none").status_code == 200, "an address that was typed"


def test_a_post_without_the_csrf_token_is_refused(guarded: Running, browser: Browser) -> None:
    other = Browser(guarded)
    other.log_in(a_jwt("read"))
    for wrong in (None, "", "x", other.csrf, browser.csrf[:-1]):
        assert code(browser.send("POST", "/v1/search", body={"query": "q"}, x_csrf_token=wrong)) == (
            403,
            "csrf_token_needed",
        )


def test_the_csrf_token_can_be_read_again_by_the_page_alone(browser: Browser) -> None:
    assert browser.send("GET", "/ui/csrf").json()["csrf"] == browser.csrf
    assert code(browser.send("GET", "/ui/csrf", sec_fetch_site="same-site")) == (403, "foreign_origin")
    assert code(browser.send("GET", "/ui/csrf", cookie=None)) == (401, "not_authenticated")


WRITES = [
    ("POST", "/v1/sessions/s/entries"),
    ("POST", "/v1/sessions/s/compact"),
    ("POST", "/v1/sessions/s/clear"),
    ("PUT", "/v1/sessions/s/config"),
    ("PATCH", "/v1/sessions/s/data"),
    ("POST", "/v1/sessions/s/restore"),
    ("POST", "/v1/sessions/s/fork"),
    ("POST", "/v1/sessions/s/import"),
    ("DELETE", "/v1/sessions/s/entries/m-1"),
    ("POST", "/v1/sessions/s/entries/m-1/restore"),
    ("POST", "/v1/long-term-memory/"),
    ("POST", "/v1/long-term-memory/forget"),
    ("PUT", "/v1/working-memory/s"),
    ("GET", "/v1/working-memory/s"),  # it may bring back an expired session
    ("POST", "/v1/memory/prompt"),
    ("POST", "/v1/summary-views"),
    ("GET", "/readyz"),
]


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_stolen_cookie_writes_nothing(browser: Browser, method: str, path: str) -> None:
    """With everything that the page itself sends, and the cookie of an administrator."""
    body = None if method in {"GET", "DELETE"} else {}
    assert code(browser.send(method, path, body=body))[0] == 403


def test_a_login_may_use_routes_of_scope_read_only() -> None:
    settings = load_service_settings()
    store = InMemoryStore()
    app = create_app(Service(Services(store), settings, Notifier(store.events), Quotas(settings)), settings)
    usable, reading = set(), set()
    for context in iter_route_contexts(app.routes):
        route, path = context.original_route, str(context.path)
        for method in route.methods or () if isinstance(route, APIRoute) else ():
            scope = required_scope(context.dependant)
            if only_reads(method, path):
                usable.add((method, path, scope))
            if scope == "read" and dialect_of(path) == "native":
                reading.add((method, path, scope))
    memories = "/v1/long-term-memory"
    others = {("POST", f"{memories}/search"), ("GET", memories + "/{memory_id}/history")}
    own = {("GET", "/ui/csrf", ""), ("POST", "/ui/logout", "")}
    assert usable == reading | {(*other, "read") for other in others} | own


def test_a_login_without_the_list_of_routes_could_write(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the grant of an administrator, if neither its scope nor its routes were cut."""
    monkeypatch.setattr(browser_login, "only_reads", lambda method, path: True)
    assert code(browser.send("POST", "/v1/sessions/s/clear", body={})) == (403, "scope_needed"), "the scope stops it"
    whole = frozenset({"read", "write", "admin"})
    monkeypatch.setattr(Grant, "caller", property(lambda grant: Caller(grant.actor, whole, None, grant.key)))
    entry = {"entries": [{"role": "user", "content": "hello"}]}
    assert browser.send("POST", "/v1/sessions/s/entries", body=entry).status_code == 201


def test_a_login_without_checks_of_the_origin_could_be_used_by_another_page(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    monkeypatch.setattr(browser_login, "_require_same_origin", lambda request: None)
    answer = browser.send("POST", "/v1/search", body={"query": "q"}, **FOREIGN["another site"])
    assert answer.status_code == 200


def test_a_cookie_beside_a_credential_is_refused(browser: Browser) -> None:
    token = a_jwt("read")
    for headers in ({"authorization": f"Bearer {token}"}, {"x_api_key": token}):
        assert code(browser.send("GET", "/v1/sessions", **headers)) == (401, "not_authenticated")


def sealed_otherwise() -> str:
    """Return a cookie that is sealed with the right key, with content of another release."""
    seal = GrantSeal(KEY.encode())
    content = base64.urlsafe_b64encode(b'{"v":9}').decode().rstrip("=")
    return f"{content}.{seal._mac_of(content)}"


def forged(cookie: str) -> dict[str, str]:
    """Return cookies that were not sealed as they are."""
    name, _, value = cookie.partition("=")
    content, _, mac = value.partition(".")
    fields = json.loads(unpacked(content))
    longer = (
        base64.urlsafe_b64encode(json.dumps([*fields[:3], fields[3] + 10, fields[4]]).encode()).decode().rstrip("=")
    )
    now = SystemClock().now()
    other = GrantSeal(b"another key").sealed(Grant.to(Caller("eve", frozenset({"read"}), None, "jwt:eve"), now=now))
    return {
        "longer": f"{name}={longer}.{mac}",
        "other key": f"{name}={other}",
        "cut": f"{name}={value[:-2]}",
        "empty": f"{name}=",
        "no mac": f"{name}={content}",
        "nonsense": f"{name}=!.!",
        "twice": f"{cookie}; {cookie}",
        "other release": f"{name}={sealed_otherwise()}",
        "csrf as mac": f"{name}={content}.{GrantSeal(b'k').csrf_token(content)}",
    }


def test_a_forged_cookie_is_refused(browser: Browser) -> None:
    for kind, cookie in forged(browser.cookie).items():
        assert code(browser.send("GET", "/v1/sessions", cookie=cookie)) == (401, "not_authenticated"), kind


def test_a_forged_cookie_is_accepted_if_its_mac_is_not_compared(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    longer = forged(browser.cookie)["longer"]
    monkeypatch.setattr(grants.hmac, "compare_digest", lambda first, second: True)
    assert browser.send("GET", "/v1/sessions", cookie=longer).status_code == 200


def test_the_cookie_of_another_port_is_not_ours(guarded: Running, browser: Browser) -> None:
    renamed = browser.cookie.replace(f"mledger_{guarded.port}", "mledger_1")
    assert code(browser.send("GET", "/v1/sessions", cookie=renamed)) == (401, "not_authenticated")


def test_a_login_ends_in_time(guarded: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(guarded)
    browser.log_in(a_jwt("read"))
    end = grants.LONGEST
    monkeypatch.setattr(Grant, "expires_at", property(lambda grant: SystemClock().now()))
    assert code(browser.send("GET", "/v1/sessions")) == (401, "not_authenticated")
    assert end.total_seconds() == 12 * 3600


def test_logging_out_makes_the_browser_forget_the_cookie(browser: Browser) -> None:
    answer = browser.send("POST", "/ui/logout", body={})
    assert answer.status_code == 204
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name.endswith(('=""', "="))
    assert {"Max-Age=0", "Path=/"} <= set(attributes)


def test_a_login_keeps_to_its_namespaces(guarded: Running) -> None:
    """trust S-5."""
    browser = Browser(guarded)
    browser.log_in(a_jwt("read", namespaces=("ours",)))
    assert browser.send("GET", "/v1/probe/who").json()["namespace"] == "ours"
    for path in ("/v1/sessions?namespace=theirs", "/v1/sessions/s/stats?namespace=theirs"):
        assert code(browser.send("GET", path)) == (403, "namespace_not_permitted")
    sent = {"text": "q", "namespace": {"eq": "theirs"}}
    assert code(browser.send("POST", "/v1/long-term-memory/search", body=sent))[0] == 403


def test_a_credential_that_does_not_hold_logs_nobody_in(guarded: Running) -> None:
    for token in ("", "nonsense", a_jwt("read")[:-3], a_jwt("read", lasts_s=-60)):
        answer = Browser(guarded).log_in(token)
        assert code(answer) == (401, "not_authenticated")
        assert "set-cookie" not in answer.headers
    assert code(Browser(guarded).log_in(a_jwt("write"))) == (403, "scope_needed")


def test_a_login_is_json_and_small(guarded: Running) -> None:
    """trust S-6: a form of another page cannot send it."""
    form = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
    answer = http_client.post(f"{guarded.url}/ui/login", content=b"token=x", headers=form)
    assert code(answer) == (415, "unsupported_media_type")
    assert code(Browser(guarded).log_in("x" * 9_000)) == (422, "too_long")
    assert code(Browser(guarded).log_in("x" * 20_000)) == (413, "too_large")


def test_nothing_that_is_typed_or_looked_at_is_logged(
    guarded: Running, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    """trust P-16."""
    with caplog.at_level("DEBUG"):
        browser.send("GET", "/ui/session?id=secret-session&user=secret-user")
        browser.send("POST", "/v1/search", body={"query": "secret words"})
        Browser(guarded).log_in("secret-token")
        Browser(guarded).log_in(a_jwt("read", namespaces=("secret-namespace",)))
    lines = [
        f"{record.getMessage()} {record.__dict__}" for record in caplog.records if record.name.startswith("ledger")
    ]
    assert any("/ui/login" in line for line in lines), "control: requests are logged"
    assert not [line for line in lines if "secret" in line or browser.csrf in line]


def test_guessing_is_slowed_down() -> None:
    """trust S-9."""
    with running(InMemoryStore(), rate_limit_per_s=0.01, rate_limit_burst=3, **OIDC) as in_flight:
        answers = [Browser(in_flight).log_in("wrong").status_code for _ in range(5)]
    assert answers == [401, 401, 401, 429, 429]


def test_a_start_with_the_same_key_knows_the_logins_of_the_one_before() -> None:
    """So several processes of a service know each other's; without a key of its own each start makes one."""
    for key, status in ({"ui_key": "k" * 32}, 200), ({}, 401):
        cookies = []
        for _ in range(2):
            with running(InMemoryStore(), **OIDC, **key) as in_flight:
                browser = Browser(in_flight)
                if not cookies:
                    browser.log_in(a_jwt("read"))
                    cookies.append(browser.cookie.partition("=")[2])
                else:
                    browser.cookie = f"mledger_{in_flight.port}={cookies[0]}"
                    assert browser.send("GET", "/v1/sessions").status_code == status


def test_a_short_key_is_refused_at_the_start() -> None:
    with pytest.raises(InvalidInput, match="MEMORY_LEDGER_UI_KEY: must have at least 32"):
        load_service_settings(ui_key="short")


def test_what_is_read_in_the_viewer_does_not_count_as_read(guarded: Running, browser: Browser) -> None:
    """http W-32: an agent's read does."""
    agent = {"authorization": f"Bearer {a_jwt('read', 'write')}"}
    sent = {"memories": [{"id": "fact", "text": "the sky is blue"}]}
    assert http_client.post(f"{guarded.url}/v1/long-term-memory/", json=sent, headers=agent).status_code == 200

    def count() -> int:
        answer = http_client.post(f"{guarded.url}/v1/long-term-memory/search", json={"text": "sky"}, headers=agent)
        return int(answer.json()["memories"][0]["access_count"])

    found = browser.send("POST", "/v1/long-term-memory/search", body={"text": "sky"}).json()["memories"]
    assert [record["text"] for record in found] == ["the sky is blue"]
    assert [count(), count()] == [0, 1], "an answer has the count before it"


@pytest.mark.postgres
def test_a_revoked_token_ends_its_logins_within_five_seconds(
    server: Server, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trust S-2; the wait itself is made short, its length is a constant."""
    assert authentication.CACHED_S < 5
    monkeypatch.setattr(authentication, "CACHED_S", 0.2)
    keeper = Keeper(server.database(shared_database))
    token = keeper.add("read", "write")
    with running(server.target(shared_database), auth_mode="token") as in_flight:
        browser = Browser(in_flight)
        assert browser.log_in(token).status_code == 200
        assert browser.send("GET", "/v1/probe/who").json() == {
            "actor": "agent",
            "scopes": ["read"],
            "namespaces": None,
            "namespace": "default",
        }
        keeper.revoke(token)
        time.sleep(0.25)
        assert code(browser.send("GET", "/v1/sessions")) == (401, "not_authenticated")
        assert code(browser.log_in(token)) == (401, "not_authenticated")
