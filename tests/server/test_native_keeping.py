"""Session data, restoring, and the history of records over HTTP (http W-66, W-70, W-71, B9)."""

import concurrent.futures
from typing import Any

import httpx

from tests.server.conftest import Running
from tests.server.test_native_sessions import say


def test_concurrent_patches_of_different_keys_all_survive(api: httpx.Client, session: str) -> None:
    """http W-66, W-62 (c)."""
    path = f"/v1/sessions/{session}/data"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: api.patch(path, json={f"k{number}": number}), range(16)))
    assert {answer.status_code for answer in answers} == {200}
    results = api.patch(path, json={"k0": None}).json()
    assert results["data"] == {f"k{number}": number for number in range(1, 16)}


def test_a_patch_takes_the_media_type_of_merge_patches_and_conditions(api: httpx.Client, session: str) -> None:
    """http W-64, RFC 7396."""
    path = f"/v1/sessions/{session}/data"
    patched = api.patch(path, content=b'{"a":1}', headers={"content-type": "application/merge-patch+json"})
    assert (patched.status_code, patched.json()) == (200, {"data": {"a": 1}, "version": 2})
    key = {"Idempotency-Key": "once"}
    second = {"If-Match": patched.headers["etag"]}
    first = api.patch(path, json={"a": 2}, headers={**key, **second})
    again = api.patch(path, json={"a": 2}, headers={**key, **second})
    assert (first.json(), again.json()) == ({"data": {"a": 2}, "version": 3},) * 2
    assert again.headers["idempotent-replayed"] == "true"
    stale = api.patch(path, json={"a": 3}, headers=second)
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    assert api.patch(path, json=[1]).status_code == 422


def test_a_session_can_be_restored(api: httpx.Client, session: str) -> None:
    """http W-70, B9."""
    say(api, session)
    state = api.get(f"/v1/sessions/{session}/state").json()
    api.delete(f"/v1/working-memory/{session}")
    assert api.get(f"/v1/sessions/{session}/state").json()["status"] == "ended"
    back = api.post(f"/v1/sessions/{session}/restore", json={"version": state["version"]})
    assert back.status_code == 200, back.text
    now = api.get(f"/v1/sessions/{session}/state").json()
    assert (now["status"], said(now)) == ("live", said(state))
    missing = api.post(f"/v1/sessions/{session}/restore", json={"version": 99})
    assert (missing.status_code, missing.json()["code"]) == (404, "version_not_found")


def said(state: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["entry_id"], entry["content"]) for entry in state["entries"] if entry["status"] == "active"]


def test_what_was_done_to_a_record_is_undone(service: Running, namespace: str) -> None:
    """http W-71, B9."""
    with httpx.Client(base_url=service.url, timeout=30) as api:
        undo_all(api, namespace)


def undo_all(api: httpx.Client, namespace: str) -> None:
    name = f"{namespace}-r"
    record = {"id": name, "text": "Mia lives in Oslo", "namespace": namespace}
    assert api.post("/v1/long-term-memory/", json={"memories": [record]}).status_code == 200
    api.patch(f"/v1/long-term-memory/{name}", json={"text": "Mia lives in Bergen"})
    api.delete("/v1/long-term-memory", params={"memory_ids": name})
    revisions = api.get(f"/v1/long-term-memory/{name}/history").json()["revisions"]
    assert [(revision["status"], revision["record"]["text"]) for revision in revisions] == [
        ("live", "Mia lives in Oslo"),
        ("live", "Mia lives in Bergen"),
        ("deleted", "Mia lives in Bergen"),
    ]
    assert {revision["record"]["record_id"] for revision in revisions} == {name}
    back = api.post(f"/v1/long-term-memory/{name}/restore", json={"revision": revisions[0]["revision"]})
    assert (back.status_code, back.json()["text"]) == (200, "Mia lives in Oslo")
    assert api.get(f"/v1/long-term-memory/{name}").json()["text"] == "Mia lives in Oslo"
    unknown = api.get("/v1/long-term-memory/unknown/history")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "record_not_found")
