"""The routes behind the viewer: who asks, which sessions there are, their forks, and the log backwards."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import jwt
import pytest

import ledger
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.server.test_oidc import SECRET, claims, oidc_service
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
    prefixed = {"id_prefix": "talk-", "limit": 1}
    page = client.get("/v1/sessions", params=prefixed).json()
    rest = client.get("/v1/sessions", params={**prefixed, "cursor": page["next_cursor"]}).json()
    assert [row["session_id"] for row in [*page["sessions"], *rest["sessions"]]] == ["talk-2", "talk-1"]
    refused = client.get("/v1/sessions", params={"id_prefix": "talk", "cursor": page["next_cursor"]})
    assert refused.json()["code"] == "bad_cursor"
    assert client.get("/v1/sessions", params={"id_prefix": "alk"}).json()["sessions"] == [], "control"
    assert client.get("/v1/sessions", params={"user_prefix": "nobody"}).json()["sessions"] == []
    assert client.get("/v1/sessions", params={"user_prefix": ""}).json()["code"] == "bad_name"


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


def test_statistics_and_config_of_the_past(client: httpx.Client) -> None:
    path = "/v1/sessions/talk-1"
    put = client.put("/v1/sessions/set/config", json={"config": {"profile": "none"}}).json()
    config = {"window": {"type": "max_tokens", "memory_max_tokens": 20}}
    assert client.put("/v1/sessions/set/config", json={"config": config}).json()["since"] == put["version"] + 1
    client.post("/v1/sessions/set/entries", json={"entries": [{"role": "user", "content": "hello"}]})
    now, then = (client.get("/v1/sessions/set/config", params=params).json() for params in ({}, {"version": 1}))
    assert (now["config"]["window"]["type"], now["since"]) == ("max_tokens", 2)
    assert (then["config"], then["since"], then["version"]) == (put["config"], 1, 1)
    assert client.get("/v1/sessions/talk-2/config").json()["since"] == 4, "a fork begins with the config of then"
    stats = [client.get(f"{path}/stats", params=params) for params in ({}, {"version": 3}, {"version": 99})]
    assert [answer.json().get("total_entries") for answer in stats] == [4, 2, None]
    assert stats[0].headers["etag"] != stats[1].headers["etag"]
    assert client.get(f"{path}/stats", params={"version": 3, "at": "2026-01-01T00:00:00Z"}).status_code == 422
    assert client.get(f"{path}/config", params={"at": "2999-01-01T00:00:00Z"}).json()["code"] == "bad_time"


def test_each_strategy_has_a_preset_that_can_be_tried(client: httpx.Client) -> None:
    presets = {each["name"]: each for each in client.get("/v1/presets").json()["presets"]}
    assert {"full", "sliding_window", "rolling"} <= presets.keys()
    assert presets["sliding_window"]["title"] == "Sliding window"
    for each in presets.values():
        answer = client.post(
            "/v1/sessions/talk-1/what-if", json={"config": each["config"], "on_miss": "estimate"}
        ).json()
        assert answer["config"] == each["config"]


def test_reports_are_read_from_one_folder_only(tmp_path: Path, client: httpx.Client) -> None:
    assert client.get("/v1/reports").json() == {"reports": []}
    assert client.get("/v1/reports/week").json()["code"] == "not_found"
    folder = tmp_path / "reports"
    (folder / "old").mkdir(parents=True)
    report = {"configs": [{"config": "full"}], "findings": []}
    (folder / "week.json").write_text(json.dumps(report))
    (folder / "old" / "report.json").write_text(json.dumps(report))
    (folder / "broken.json").write_text("{")
    (folder / ".hidden.json").write_text(json.dumps(report))
    (tmp_path / "secret.json").write_text(json.dumps(report))
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    with (
        running(InMemoryStore(), reports=folder) as item,
        httpx.Client(base_url=item.url, timeout=30) as own,
    ):
        listed = own.get("/v1/reports").json()["reports"]
        assert {each["name"] for each in listed} == {"week", "old", "broken"}
        assert own.get("/v1/reports/week").json() == own.get("/v1/reports/old").json() == report
        assert own.get("/v1/reports/broken").json()["code"] == "bad_report"
        for name in ("link", ".hidden", "..", "%2e%2e%2fsecret", "secret", "reports"):
            assert own.get(f"/v1/reports/{name}").status_code == 404, name


def test_a_caller_of_some_namespaces_reads_no_reports(tmp_path: Path) -> None:
    token = jwt.encode(claims(scope="read"), SECRET, algorithm="HS256")
    own = oidc_service("", oidc_jwks_url=None, oidc_hmac_key=SECRET, reports=tmp_path)
    with own as item, httpx.Client(base_url=item.url, headers={"authorization": f"Bearer {token}"}) as limited:
        assert [limited.get(f"/v1/reports{name}").status_code for name in ("", "/a")] == [403, 403]
        me = limited.get("/v1/me").json()
        assert (me["actor"], me["scopes"], me["namespaces"], me["home"]) == ("auth0|ann", ["read"], ["ours"], "ours")
        assert me["auth_mode"] == "oidc"
