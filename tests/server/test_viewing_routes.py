"""The routes that the viewer reads a session by, over HTTP: the answers of the library, with tags and refusals.

Source: viewer U-44.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ledger.application.json_models.window_json import TimelineShape
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.http_client import JSON
from tests.support.ledgers import ledger_over

PATH = "/v1/sessions/talk"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a service over a store in memory, with a session of four entries, two of them covered."""
    store = InMemoryStore()

    async def prepare() -> None:
        config = {"max_entries": 3, "recent_window": 2, "min_entries_to_compress": 2}
        ledger = ledger_over(store, config={**config, "tokenizer": "approximate"})
        ledger.set_summarizer(None, lambda prompt: "short")
        for number in range(4):
            await ledger.add_user_message("talk", f"message {number} " * 20, entry_id=f"m-{number}")
            await ledger.settle()
        await ledger.get_context("talk", record=True)

    asyncio.run(prepare())
    with running(store) as item, httpx.Client(base_url=item.url, timeout=30, headers=JSON) as found:
        yield found


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"{PATH}{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_timeline_is_read_in_pages_and_tagged(client: httpx.Client) -> None:
    answer = client.get(f"{PATH}/timeline")
    whole = answer.json()
    assert whole.keys() == TimelineShape.model_fields.keys()
    assert answer.headers["etag"].startswith(f'"{whole["newest"]}-')
    assert client.get(f"{PATH}/timeline", headers={"if-none-match": answer.headers["etag"]}).status_code in {200, 304}
    assert (whole["version"], len(whole["entries"]["added"])) == (whole["newest"], 4)
    assert [left["cause"] for left in whole["left"]] == ["covered"]
    assert [mark["type"] for mark in whole["marks"]] == ["opened", "context"]
    first = get(client, "/timeline", limit=2)
    assert (first["version"], first["entries"]["added"]) == (2, [2])
    assert get(client, "/timeline", after=2)["left"] == whole["left"]


def test_a_window_and_the_model_calls_are_shown(client: httpx.Client) -> None:
    newest = get(client, "/timeline")["newest"]
    window = get(client, "/window", version=newest - 1)
    assert window["recorded"]["verdict"] == "proved"
    assert [item["kind"] for item in window["items"]] == ["summary", "entry", "entry"]
    assert get(client, "/window", version=newest - 1, offset=1, limit=1)["items"] == window["items"][1:2]
    (call,) = get(client, "/windows")["calls"]
    assert (call["version"], call["recorded"], call["shown"]) == (newest - 1, True, window["shown"])
    assert get(client, "/windows", after=newest) == {"calls": [], "next_after": None}


def test_entries_are_listed_and_each_has_its_fate(client: httpx.Client) -> None:
    newest = get(client, "/timeline")["newest"]
    page = get(client, "/entries", limit=3)
    assert [row["status"] for row in page["entries"]] == ["covered", "covered", "active"]
    assert all(row["content"] is None for row in page["entries"])
    (last,) = get(client, "/entries", **{"from": page["next_from"], "full": True})["entries"]
    assert (last["entry_id"], last["content"], last["status"]) == ("m-3", "message 3 " * 20, "active")
    fate = get(client, "/entries/m-0", version=newest)["fate"]
    assert (fate["status"], fate["version"]) == ("covered", page["entries"][0]["left_version"])
    assert get(client, "/entries/m-3", version=2)["status"] == "not_yet"
    assert get(client, "/entries/m-3")["fate"] is None


def test_summaries_and_texts_are_found(client: httpx.Client) -> None:
    (row,) = get(client, "/summaries")["summaries"]
    assert (row["status"], row["text"]) == ("live", "short")
    one = get(client, f"/summaries/{row['summary_id']}")
    assert (one["tree"]["entries"], one["requested"]["reasons"]) == (2, ["entries"])
    found = client.post(f"{PATH}/find", json={"text": "MESSAGE 2"}).json()
    assert [(match["entry_id"], match["count"]) for match in found["matches"]] == [("m-2", 20)]
    assert client.post(f"{PATH}/find", json={"text": "MESSAGE 2", "ignore_case": False}).json()["matches"] == []


@pytest.mark.parametrize("path", ["/timeline", "/window", "/windows", "/entries", "/summaries", "/entries/m-0"])
def test_what_is_wrong_is_refused(client: httpx.Client, path: str) -> None:
    refused = client.get(f"/v1/sessions/nobody{path}")
    assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")
    assert client.get(f"{PATH}{path}", params={"namespace": "other"}).status_code == 404
    assert client.get(f"{PATH}{path}", params={"unknown": "1"}).status_code == 422
    if path in {"/window", "/entries", "/summaries", "/entries/m-0"}:
        assert client.get(f"{PATH}{path}", params={"version": 999}).json()["code"] == "version_not_found"
        assert client.get(f"{PATH}{path}", params={"version": "x"}).status_code == 422
    else:
        assert client.get(f"{PATH}{path}", params={"after": "-1"}).status_code == 422


def test_a_text_to_find_has_bounds(client: httpx.Client) -> None:
    for body in ({"text": ""}, {"text": "x" * 1_001}, {}, {"text": "x", "limit": 0}, {"text": "x", "more": 1}):
        assert client.post(f"{PATH}/find", json=body).status_code == 422, body
    assert client.get(f"{PATH}/summaries/nobody").status_code == 404
