"""The page of the viewer: open to everybody, since it holds nothing, and allowed to run only its own script.

Source: viewer U-36, U-42; the same two files are in the one file (viewer U-7).
"""

import re
from collections.abc import Iterator

import pytest

from ledger.server.ui.viewer_page import SCREENS
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.browser import OIDC
from tests.support.wire import exchange, head


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    with running(InMemoryStore(), **OIDC) as in_flight:
        yield in_flight


@pytest.mark.parametrize("path", ["/ui/", *(f"/ui/{screen}" for screen in SCREENS)])
def test_every_address_has_the_same_page_with_relative_links(guarded: Running, path: str) -> None:
    answer = http_client.get(f"{guarded.url}{path}?ns=a&id=s&v=3")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.content == http_client.get(f"{guarded.url}/ui/").content
    links = re.findall(r'(?:src|href)="([^"]*)"', answer.text)
    assert sorted(links) == ["icon.svg", "viewer.css", "viewer.js"]
    for link in links:
        assert http_client.get(f"{guarded.url}/ui/{link}").status_code == 200


def test_the_page_without_a_slash_leads_to_the_one_with_it_below_any_prefix(guarded: Running) -> None:
    answer = http_client.get(f"{guarded.url}/ui")
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")


@pytest.mark.parametrize("path", ["/ui/", "/ui/viewer.js", "/ui/viewer.css", "/ui/icon.svg"])
def test_the_page_and_its_files_have_the_policy_and_are_asked_for_again(guarded: Running, path: str) -> None:
    answer = http_client.get(f"{guarded.url}{path}")
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-cache"
    known = http_client.get(f"{guarded.url}{path}", headers={"if-none-match": answer.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


def test_the_page_holds_no_script_and_no_style_of_its_own(guarded: Running) -> None:
    page = http_client.get(f"{guarded.url}/ui/").text
    assert re.findall(r"<script[^>]*>([^<]*)", page) == [""]
    assert not re.search(r"<style|\son\w+=|\sstyle=", page)


def test_what_is_behind_the_page_requires_a_caller(guarded: Running) -> None:
    for path in ("/v1/sessions", "/ui/csrf"):
        assert http_client.get(f"{guarded.url}{path}").status_code == 401
    assert http_client.post(f"{guarded.url}/ui/logout", json={}).status_code == 401


def test_a_screen_that_does_not_exist_is_not_found(guarded: Running) -> None:
    for path in ("/ui/nothing", "/ui/session/deeper", "/ui/../ui/", "/ui//"):
        assert exchange(guarded, head("GET", path)).status == 404


def test_the_viewer_can_be_turned_off() -> None:
    with running(InMemoryStore(), ui=False, **OIDC) as in_flight:
        for path in ("/ui", "/ui/", "/ui/session", "/ui/viewer.js", "/ui/csrf"):
            assert http_client.get(f"{in_flight.url}{path}").status_code == 404
        assert http_client.post(f"{in_flight.url}/ui/login", json={"token": "x"}).status_code == 404


def test_without_authentication_only_a_loopback_name_gets_the_page() -> None:
    """trust S-1: a name that another page made lead here, and a POST of another page, are refused."""
    with running(InMemoryStore()) as in_flight:
        assert exchange(in_flight, head("GET", "/ui/", host="evil.example")).status == 400
        assert exchange(in_flight, head("GET", "/ui/", host="localhost")).status == 200
        assert http_client.get(f"{in_flight.url}/ui/csrf").json() == {"csrf": "", "expires_at": None}
        refused = http_client.post(f"{in_flight.url}/ui/login", json={"token": "x"})
        assert (refused.status_code, refused.json()["code"]) == (422, "no_login")
        found = []
        for origin in ("http://evil.example", "http://localhost:1", in_flight.url):
            answer = http_client.post(f"{in_flight.url}/v1/search", json={"query": "q"}, headers={"origin": origin})
            found.append(answer.status_code)
        assert found == [403, 403, 200]
