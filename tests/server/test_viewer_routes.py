"""The routes behind the viewer: who asks, which sessions there are, their forks, and the log backwards."""

from collections.abc import Iterator

import httpx
import pytest

import ledger
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.http_client import JSON


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a service over a store in memory, with two sessions, one of them a fork."""
    with running(InMemoryStore()) as item, httpx.Client(base_url=item.url, timeout=30, headers=JSON) as found:
        entries = [{"role": "user", "content": f"message {number}", "tokens": 10} for number in range(4)]
        found.post("/v1/sessions/talk-1/entries", json={"entries": entries}).raise_for_status()
        found.post("/v1/sessions/talk-1/fork", json={"session_id": "talk-2", "version": 3}).raise_for_status()
        yield found


def test_a_caller_learns_who_they_are(client: httpx.Client) -> None:
    assert client.get("/v1/me").json() == {
        "actor": "",
        "scopes": ["admin", "import", "read", "system", "write"],
        "namespaces": None,
        "home": "default",
        "release": ledger.__version__,
        "auth_mode": "none",
        "ui": {"writes": False},
    }


def test_the_log_is_read_backwards_and_filtered(client: httpx.Client) -> None:
    path = "/v1/sessions/talk-1/events"
    page = client.get(path, params={"before_version": 99, "limit": 2}).json()
    assert [event["version"] for event in page["events"]] == [5, 4]
    assert (page["next_after"], page["next_before"], page["version"]) == (None, 4, 5)
    first = client.get(path, params={"type": ["session.opened", "data.changed"], "actor": ""}).json()["events"]
    assert [(event["version"], event["link"]) for event in first] == [(1, "first")]
    assert page["events"][0]["text"] == "user message, 10 tokens: message 3"
    for wrong in ({"before_version": 0}, {"before_version": "x"}, {"type": ["a"] * 65}, {"type": "no type"}):
        assert client.get(path, params=wrong).status_code == 422, wrong


def test_sessions_are_filtered_page_by_page(client: httpx.Client) -> None:
    found = client.get("/v1/sessions", params={"q": "talk", "limit": 1}).json()
    assert found["sessions"][0]["forked_from"] == {"session_id": "talk-1", "user_id": None, "version": 3}
    rest = {"q": "talk", "limit": 1, "cursor": found["next_cursor"]}
    (first,) = client.get("/v1/sessions", params=rest).json()["sessions"]
    assert (first["session_id"], first["forked_from"]) == ("talk-1", None)
    refused = client.get("/v1/sessions", params={**rest, "q": "tal"})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_cursor"), "a cursor is of one filter"
    after = client.get("/v1/sessions", params={"updated_after": first["updated_at"]}).json()["sessions"]
    assert [row["session_id"] for row in after] == ["talk-2"]
    before = client.get("/v1/sessions", params={"updated_before": first["updated_at"]}).json()
    assert (before["sessions"], before["next_cursor"]) == ([], None)
    assert client.get("/v1/sessions", params={"updated_after": "now"}).json()["code"] == "bad_time"
    assert client.get("/v1/sessions", params={"q": ""}).json()["code"] == "bad_name"


def test_a_family_is_listed_from_any_of_its_members(client: httpx.Client) -> None:
    found = client.get("/v1/sessions/talk-2/family").json()
    assert found == client.get("/v1/sessions/talk-1/family").json()
    assert found["root"] == found["members"][0]
    fork = found["members"][1]
    assert {name: fork[name] for name in ("session_id", "user_id", "parent", "parent_user_id", "at_version")} == {
        "session_id": "talk-2", "user_id": None, "parent": "talk-1", "parent_user_id": None, "at_version": 3
    }  # fmt: skip
    assert (fork["version"], fork["status"], found["cut"]) == (4, "live", False)
    assert client.get("/v1/sessions/nobody/family").status_code == 404
