"""Conditions of writes: If-Match, expected versions, idempotency keys; cursors.

Source: http W-64, trust R-5, R-6, I-42 … I-47.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ledger.server.native.cursors import Cursors
from tests.server.test_native_sessions import SAID, say
from tests.support.http_client import etag_at

WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/entries", {"json": {"entries": [{"role": "user", "content": "again"}]}}),
    ("POST", "/entries", {"json": {"entries": [{"role": "user", "content": "named", "entry_id": "m-9"}]}}),
    ("PATCH", "/entries/m-1", {"json": {"content": "another text"}}),
    ("DELETE", "/entries/m-1", {}),
    ("POST", "/clear", {}),
    ("PUT", "/config", {"json": {"config": {"window": {"type": "full"}, "limit": {"max_tokens": 100}}}}),
]


def write(api: httpx.Client, session: str, what: tuple[str, str, dict[str, Any]], **headers: str) -> httpx.Response:
    method, path, body = what
    return api.request(method, f"/v1/sessions/{session}{path}", headers=headers, **body)


def version(api: httpx.Client, session: str) -> int:
    return int(api.get(f"/v1/sessions/{session}/stats").json()["version"])


@pytest.mark.parametrize("what", WRITES, ids=lambda what: f"{what[0]} {what[1]}")
def test_a_repeated_write_gets_its_first_answer_though_the_session_went_on(
    api: httpx.Client, session: str, what: tuple[str, str, dict[str, Any]]
) -> None:
    say(api, session)
    key = {"Idempotency-Key": "retry-1"}
    first = write(api, session, what, **key)
    assert first.status_code in {200, 201}, first.text
    assert "idempotent-replayed" not in first.headers
    say(api, session, [{"role": "user", "content": "in between"}])
    again = write(api, session, what, **key)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers["etag"] == first.headers["etag"]
    assert version(api, session) == first.json()["version"] + 1
    stale = write(api, session, what, **key, **{"If-Match": etag_at(api, session, 3)})
    assert stale.json() == first.json(), "a repetition is told what happened, not that it is late"


@pytest.mark.parametrize("what", WRITES, ids=lambda what: f"{what[0]} {what[1]}")
def test_a_key_belongs_to_one_request(api: httpx.Client, session: str, what: tuple[str, str, dict[str, Any]]) -> None:
    """trust I-46."""
    say(api, session)
    assert write(
        api, session, ("POST", "/clear", {}) if what[1] != "/clear" else WRITES[0], **{"Idempotency-Key": "k"}
    ).status_code in {200, 201}
    before = version(api, session)
    other = write(api, session, what, **{"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert version(api, session) == before


def test_fifty_equal_requests_at_once_are_stored_once(api: httpx.Client, session: str) -> None:
    """trust I-47."""

    def send(_: int) -> Any:
        return say(api, session, [{"role": "user", "content": "once"}], **{"Idempotency-Key": "same"}).json()

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(send, range(50)))
    assert all(answer == answers[0] for answer in answers)
    assert version(api, session) == 2


@pytest.mark.parametrize("what", WRITES, ids=lambda what: f"{what[0]} {what[1]}")
def test_a_write_for_another_version_is_refused(
    api: httpx.Client, session: str, what: tuple[str, str, dict[str, Any]]
) -> None:
    """http W-64."""
    say(api, session)
    first, second, now = (etag_at(api, session, number) for number in (1, 2, 3))
    for etag in (second, '"9"', f"W/{now}", f"{first}, {second}"):
        stale = write(api, session, what, **{"If-Match": etag})
        assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed"), etag
    assert version(api, session) == 3
    assert write(api, session, what, **{"If-Match": now}).status_code in {200, 201}


def test_if_match_creates_nothing(api: httpx.Client, session: str) -> None:
    """http W-65."""
    for etag in ("*", '"0"', '"1"'):
        answer = write(api, session, WRITES[0], **{"If-Match": etag})
        assert answer.status_code == 412, etag
    assert api.get(f"/v1/sessions/{session}/stats").status_code == 404


def test_a_stale_expected_version_names_the_current_one(api: httpx.Client, session: str) -> None:
    """http W-63, trust I-45."""
    say(api, session)
    body = {"entries": [{"role": "user", "content": "late"}], "expected_version": 2}
    stale = api.post(f"/v1/sessions/{session}/entries", json=body)
    assert (stale.status_code, stale.json()["code"], stale.json()["current_version"]) == (409, "version_conflict", 3)
    new = api.post(f"/v1/sessions/{session}/entries", json={**body, "expected_version": 0})
    assert (new.status_code, new.json()["current_version"]) == (409, 3)
    assert api.post(f"/v1/sessions/{session}/entries", json={**body, "expected_version": 3}).status_code == 201


def test_a_batch_of_known_and_new_entries_is_answered_again_in_order(api: httpx.Client, session: str) -> None:
    say(api, session)
    batch = [
        {"role": "user", "content": "new", "entry_id": "m-3"},
        SAID[1],
        {"role": "user", "content": "unnamed"},
        SAID[0],
    ]
    first = say(api, session, batch, **{"Idempotency-Key": "mixed"}).json()
    assert [entry["known"] for entry in first["entries"]] == [False, True, False, True]
    assert say(api, session, batch, **{"Idempotency-Key": "mixed"}).json() == first


def pages(api: httpx.Client, session: str) -> str:
    for number in range(3):
        say(api, f"{session}-{number}")
    cursor = api.get("/v1/sessions", params={"limit": 2}).json()["next_cursor"]
    assert isinstance(cursor, str)
    return cursor


def test_a_cursor_is_valid_only_for_its_list(api: httpx.Client, session: str) -> None:
    """trust I-42."""
    cursor = pages(api, session)
    assert len(api.get("/v1/sessions", params={"limit": 2, "cursor": cursor}).json()["sessions"]) == 1
    flipped = [cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :] for at in range(len(cursor))]
    elsewhere = [
        {"namespace": "another-one"},
        {"user_id": "alice"},
        {"status": "live"},
        *({"cursor": item} for item in [*flipped, "", "=", "é", cursor + "=", cursor[:-1], cursor * 20]),
    ]
    for params in elsewhere:
        answer = api.get("/v1/sessions", params={"cursor": cursor, **params})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), params


def test_a_cursor_without_a_code_would_be_valid_everywhere(
    api: httpx.Client, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the checks above meet a server whose cursors say nothing of where they come from."""
    monkeypatch.setattr(Cursors, "_mac", lambda self, place: bytes(16))
    cursor = pages(api, session)
    assert api.get("/v1/sessions", params={"cursor": cursor, "user_id": "alice"}).status_code == 200
