"""Try memory configs over HTTP, and follow a verification.

Source: viewer U-17, U-43, U-44.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from ledger.application.json_models.comparison_json import DifferenceShape
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.server.access.callers import SCOPES, Caller
from ledger.server.native import trial_routes
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.in_memory.event_store import InMemoryEventStore
from tests.server.conftest import Running, running
from tests.support.http_client import JSON

TEN = {"window": {"type": "max_tokens", "memory_max_tokens": 20}}
SHORT = {"compactions": [{"type": "token_threshold", "max_tokens": 40, "recent_window": 1, "max_summary_tokens": 20}]}
PATH = "/v1/sessions/talk"
OTHER = {"namespace": "other"}
NOBODY = Caller(actor="", scopes=SCOPES, namespaces=None, key="")


@pytest.fixture(scope="module")
def served() -> Iterator[Running]:
    """A service over a store in memory."""
    with running(InMemoryStore()) as item:
        yield item


@pytest.fixture(scope="module")
def client(served: Running) -> Iterator[httpx.Client]:
    """A client of the service, which has a session of eight entries."""
    with httpx.Client(base_url=served.url, timeout=30, headers=JSON) as found:
        entries = [{"role": "user", "content": f"message {number}", "tokens": 10} for number in range(8)]
        found.post(f"{PATH}/entries", json={"entries": entries}).raise_for_status()
        yield found


def test_a_what_if_is_that_of_the_library_and_writes_nothing(served: Running, client: httpx.Client) -> None:
    before = client.get(f"{PATH}/stats").json()
    found = client.post(f"{PATH}/what-if", json={"config": TEN, "without": [9]}).json()

    async def asked() -> Any:
        ledger = MemoryLedger(served.service.handle("default", NOBODY))
        return await ledger.what_if("talk", TEN, without=[9])

    own = asyncio.run_coroutine_threadsafe(asked(), served.loop).result()
    assert found["difference"] == DifferenceShape.model_validate(own.difference).model_dump(mode="json")
    assert (found["version"], found["strategy"], found["estimated"], found["completed"]) == (9, "max_tokens", False, 0)
    assert found["difference"]["after"]["budget"]["tokens"] == 30
    earlier = client.post(f"{PATH}/what-if", json={"config": TEN, "version": 4}).json()
    assert (earlier["version"], earlier["difference"]["before"]["budget"]["tokens"]) == (4, 30)
    window = found["window"]
    assert (window["tokens"], window["strategy"], window["total"], window["recorded"]) == (30, "max_tokens", 3, None)
    assert [item["version"] for item in window["items"]] == [6, 7, 8]
    assert (window["shown"], window["hidden"][0]["versions"], window["hidden_total"]) == ([[6, 8]], [[2, 5]], 4)
    same = client.post(f"{PATH}/what-if", json={"version": 6}).json()["window"]
    third = {"namespace": "third"}
    own_window = client.get(f"{PATH}/window", params={"version": 6}).json()
    assert same == {**own_window, "config_version": None}, "its own config changes nothing"
    client.patch("/v1/sessions/noted/data", json={"a": 1}, params=third)
    client.post("/v1/sessions/noted/entries", json={"entries": [{"role": "user", "content": "hello"}]}, params=third)
    client.patch("/v1/sessions/noted/data", json={"a": 2}, params=third)
    noted = client.post("/v1/sessions/noted/what-if", json={}, params=third).json()
    assert noted["window"]["version"] == noted["version"] == 4, "the newest event is no input of the replay"
    assert client.get(f"{PATH}/stats").json() == before


def test_what_no_model_has_written_is_refused_or_estimated_and_never_called(
    served: Running, client: httpx.Client
) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "short"

    MemoryLedger(served.service.handle("default", NOBODY)).set_summarizer("talk", model)

    def answered(**more: Any) -> dict[str, Any]:
        return dict(client.post(f"{PATH}/what-if", json={"config": SHORT, **more}).json())

    assert answered(on_miss="call")["code"] == "bad_value"
    assert answered()["code"] == "summary_missing"
    estimated = answered(on_miss="estimate")
    assert estimated["estimated"]
    assert estimated["answers"]["estimated"] == estimated["completed"] > 0
    (row,) = client.post(f"{PATH}/trials", json={"configs": {"a": SHORT}}).json()["rows"]
    assert (row["estimated"], row["compactions"]) == (True, estimated["completed"])
    assert asked == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"config": 5}, "bad_config"),
        ({"config": {"window": {"type": "no"}}}, None),
        ({"without": ["nobody"]}, "entry_not_found"),
        ({"without": [True]}, None),
        ({"version": 99}, "version_not_found"),
        ({"more": 1}, "unknown_field"),
    ],
)
def test_a_wrong_what_if_is_refused(client: httpx.Client, body: dict[str, Any], code: str | None) -> None:
    answer = client.post(f"{PATH}/what-if", json=body)
    assert answer.status_code in {404, 422}
    assert code in {None, answer.json()["code"]}


def test_configs_are_tried_side_by_side_and_a_wrong_one_spoils_no_other(client: httpx.Client) -> None:
    configs = {"all": {"profile": "none"}, "ten": TEN, "wrong": {"window": {"type": "no"}}, "short": SHORT}
    rows = client.post(f"{PATH}/trials", json={"configs": configs}).json()["rows"]
    assert [(row["config"], row["ok"], row["strategy"], row["tokens"], row["shown"]) for row in rows[:2]] == [
        ("all", True, "full", 80, 8),
        ("ten", True, "max_tokens", 30, 3),
    ]
    assert (rows[2]["ok"], rows[2]["tokens"]) == (False, None)
    assert "type" in rows[2]["problem"]
    assert rows[3]["compactions"] > 0
    assert rows[3]["tokens"] < 80
    for wrong in ({}, {str(number): {} for number in range(13)}, {"a/b": {}}):
        assert client.post(f"{PATH}/trials", json={"configs": wrong}).status_code == 422
    assert client.post("/v1/sessions/nobody/trials", json={"configs": {"a": {}}}).status_code == 404


def test_a_session_that_is_too_long_is_refused(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_routes, "MOST_ENTRIES", 7)
    for name, body in (("what-if", {"config": TEN}), ("trials", {"configs": {"a": TEN}})):
        answer = client.post(f"{PATH}/{name}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "session_too_long")
        assert client.post(f"{PATH}/{name}", json={**body, "version": 8}).status_code == 200


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    lines = [part.split("\n") for part in text.strip().split("\n\n")]
    return [(event.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for event, data in lines]


def test_a_verification_says_how_far_it_is_and_then_its_verdict(client: httpx.Client) -> None:
    answer = client.get(f"{PATH}/verify-stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    (first, progress), *_, (last, verdict) = events_of(answer.text)
    assert (first, progress, last) == ("progress", {"checked": 9, "total": 9}, "verdict")
    assert verdict == client.post(f"{PATH}/verify").json()
    name, verdict = events_of(client.get("/v1/verify-stream").text)[-1]
    assert (name, verdict) == ("verdict", {"verdict": "OK-CHAINED", "checked": 9, "findings": []})
    assert client.get("/v1/sessions/nobody/verify-stream").status_code == 404


def test_a_changed_event_is_named(served: Running, client: httpx.Client) -> None:
    client.post("/v1/sessions/bad/entries", json={"entries": [{"role": "user", "content": "w"}]}, params=OTHER)
    events = served.service.store.events
    while not isinstance(events, InMemoryEventStore):
        events = events._events
    namespace = events._namespaces[namespace_id("other")]
    (stream,) = namespace.streams.values()
    stream[1] = namespace.log[1] = replace(stream[1], content=stream[1].content.replace(b'"w"', b'"v"'))
    _, verdict = events_of(client.get("/v1/sessions/bad/verify-stream", params=OTHER).text)[-1]
    assert (verdict["verdict"], [each["version"] for each in verdict["findings"]]) == ("TAMPERED", [2])
    _, verdict = events_of(client.get("/v1/verify-stream", params=OTHER).text)[-1]
    assert [(each["session_id"], each["version"]) for each in verdict["findings"]] == [("bad", 2)]
