"""Kept values, the transcript and its end, several sessions at once, over HTTP. Source: adapters LF-1 … LF-3, LF-6."""

import base64
from typing import Any

import httpx
import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.server.test_rights_of_callers import SECRET, client

SMALL = {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 1}]}


def said(*texts: str, role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": text, "entry_id": text} for text in texts]


def texts(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [entry["content"] for entry in answer.json()["entries"]]


def test_sessions_of_a_run_are_listed__LF_7(api: httpx.Client, session: str) -> None:
    run, other = f"run of {session}", f"{session}-2"
    entry = {"role": "user", "content": "hello", "metadata": {"run_id": run}}
    api.post(f"/v1/sessions/{session}/entries", json={"entries": [entry]}).raise_for_status()
    kept = {"values": [{"space": "runs", "key": run, "value": None}]}
    api.post(f"/v1/sessions/{other}/kept", json=kept).raise_for_status()
    page = api.get("/v1/sessions", params={"run_id": run, "limit": 1}).json()
    rest = api.get("/v1/sessions", params={"run_id": run, "limit": 1, "cursor": page["next_cursor"]}).json()
    assert [row["session_id"] for row in [*page["sessions"], *rest["sessions"]]] == [other, session]
    wrong = api.get("/v1/sessions", params={"run_id": "another", "cursor": page["next_cursor"]})
    assert wrong.json()["code"] == "bad_cursor"
    assert api.get("/v1/sessions", params={"run_id": "another"}).json()["sessions"] == [], "control"
    assert api.get("/v1/sessions", params={"run_id": ""}).json()["code"] == "bad_key"


def test_kept_values_are_stored_listed_and_read_in_the_past__LF_1(api: httpx.Client, session: str) -> None:
    path = f"/v1/sessions/{session}"
    raw = bytes(range(256))
    values = [
        {"space": "plan", "key": "a/1", "value": {"done": False}},
        {"space": "plan", "key": "a/2", "value": None},
        {"space": "plan", "key": "b", "base64": base64.b64encode(raw).decode()},
        {"space": "other", "key": "a/1", "value": 1},
    ]
    body = {"values": values, "entries": said("one")}
    kept = api.post(f"{path}/kept", json=body, headers={"idempotency-key": "k"})
    assert kept.status_code == 201, kept.text
    again = api.post(f"{path}/kept", json=body, headers={"idempotency-key": "k"})
    assert (again.json(), again.headers["idempotent-replayed"]) == (kept.json(), "true")
    first = kept.json()["version"]
    api.post(f"{path}/kept", json={"values": [{"space": "plan", "key": "a/1", "removed": True}]}).raise_for_status()

    def listed(**params: Any) -> list[tuple[str, Any]]:
        answer = api.get(f"{path}/kept", params={"space": "plan", **params})
        assert answer.status_code == 200, answer.text
        return [(each["key"], each["base64"] or each["value"]) for each in answer.json()["values"]]

    whole = [("a/1", {"done": False}), ("a/2", None), ("b", base64.b64encode(raw).decode())]
    assert listed() == whole[1:]
    assert listed(version=first) == whole
    assert listed(version=first, prefix="a/") == whole[:2]
    assert listed(version=first, key=["b", "a/1", "none"]) == [whole[0], whole[2]]
    assert listed(version=first, after="a/1", before="b") == whole[1:2]
    page = api.get(f"{path}/kept", params={"space": "plan", "limit": 1, "version": first}).json()
    assert (page["values"][0]["key"], page["next_after"]) == ("a/1", "a/1")
    assert texts(api.get(f"{path}/transcript")) == ["one"]


@pytest.mark.parametrize(
    ("values", "code", "field"),
    [
        ([], "batch_size", "values"),
        ([{"space": "p", "key": "k", "base64": "%"}], "bad_value", "values[0].base64"),
        ([{"space": "p", "key": "k", "base64": "", "value": 1}], "bad_arguments", "values[0].base64"),
        ([{"space": "p", "key": ""}], "bad_key", "values[0].key"),
        ([{"space": "a b", "key": "k"}], "bad_space", "values[0].space"),
        ([{"space": "p", "key": "k", "values": 1}], "unknown_field", "values[0].values"),
    ],
)
def test_a_bad_value_is_refused_and_nothing_is_stored(
    api: httpx.Client, session: str, values: list[Any], code: str, field: str
) -> None:
    refused = api.post(f"/v1/sessions/{session}/kept", json={"values": values})
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (422, code, field)
    reads: list[tuple[str, dict[str, str]]] = [
        ("kept", {"space": "p"}),
        ("kept", {"space": "p", "key": "k"}),
        ("transcript", {}),
    ]
    for path, params in reads:
        answer = api.get(f"/v1/sessions/{session}/{path}", params=params)
        assert answer.status_code == 404, "the session did not begin"


def test_the_transcript_has_compacted_entries_and_its_end_changes_in_one_write__LF_3(
    api: httpx.Client, session: str
) -> None:
    path = f"/v1/sessions/{session}"
    api.post(f"{path}/entries", json={"entries": said("a", "b", "c", "d", "e")}).raise_for_status()
    api.put(f"{path}/config", json={"config": SMALL}).raise_for_status()
    api.post(f"{path}/compact", json={"force": True}).raise_for_status()
    assert texts(api.get(f"{path}/transcript")) == ["a", "b", "c", "d", "e"]
    assert texts(api.get(f"{path}/transcript", params={"last": 2})) == ["d", "e"]
    assert texts(api.get(f"{path}/transcript", params={"after": 4})) == ["d", "e"]
    assert texts(api.get(f"{path}/transcript", params={"version": 3})) == ["a", "b"]

    popped = api.post(f"{path}/entries/pop", headers={"idempotency-key": "p"})
    assert (popped.status_code, popped.json()["entry"]["content"]) == (200, "e")
    again = api.post(f"{path}/entries/pop", headers={"idempotency-key": "p"})
    assert (again.json(), again.headers["idempotent-replayed"]) == (popped.json(), "true")
    old = api.post(f"{path}/entries/pop", headers={"if-match": '"1-0000000000000000"'})
    assert old.status_code == 412
    version = popped.json()["version"]
    body = {"count": 1, "entries": said("f", "g"), "expected_version": version}
    replaced = api.post(f"{path}/entries/replace-tail", json=body)
    assert replaced.status_code == 200, replaced.text
    late = api.post(f"{path}/entries/replace-tail", json=body)
    assert (late.status_code, late.json()["code"]) == (409, "version_conflict")
    assert texts(api.get(f"{path}/transcript")) == ["a", "b", "c", "f", "g"]
    missing = api.post(f"{path}/entries/remove", json={"entry_ids": ["f", "nobody"]})
    assert (missing.status_code, missing.json()["code"]) == (404, "entry_not_found")
    api.post(f"{path}/entries/remove", json={"entry_ids": ["f", "g"]}).raise_for_status()
    assert texts(api.get(f"{path}/transcript")) == ["a", "b", "c"]


def test_popping_an_empty_session_answers_nothing(api: httpx.Client, session: str) -> None:
    assert api.post(f"/v1/sessions/{session}/entries/pop").json() == {"entry": None, "version": 0}
    assert api.get(f"/v1/sessions/{session}/stats").status_code == 404


def test_whole_keys_of_session_data_are_set__LF_10(api: httpx.Client, session: str) -> None:
    path = f"/v1/sessions/{session}/data"
    api.post(path, json={"values": {"plan": {"a": 1}, "draft": 1}}).raise_for_status()
    done = api.post(path, json={"values": {"plan": {"b": None}}, "remove": ["draft"]})
    assert (done.status_code, done.json()["data"]) == (200, {"plan": {"b": None}})


def test_several_sessions_are_written_or_none__LF_6(api: httpx.Client, session: str) -> None:
    names = [f"{session}-{at}" for at in range(3)]
    writes: list[dict[str, Any]] = [
        {"session_id": names[0], "entries": said("one")},
        {"session_id": names[1], "user_id": "mara", "data": {"step": 1}},
    ]
    written = api.post("/v1/writes", json={"writes": writes}, headers={"idempotency-key": session})
    assert written.status_code == 201, written.text
    assert [(each["session_id"], len(each["entries"])) for each in written.json()["sessions"]] == [
        (names[0], 1),
        (names[1], 0),
    ]
    again = api.post("/v1/writes", json={"writes": writes}, headers={"idempotency-key": session})
    assert (again.json(), again.headers["idempotent-replayed"]) == (written.json(), "true")
    late = {"session_id": names[0], "entries": said("two"), "expected_version": 0}
    refused = api.post("/v1/writes", json={"writes": [{"session_id": names[2], "data": {"a": 1}}, late]})
    assert (refused.status_code, refused.json()["code"]) == (409, "version_conflict")
    assert api.get(f"/v1/sessions/{names[2]}/stats").status_code == 404


@pytest.fixture(scope="module")
def guarded() -> Any:
    settings = {"oidc_issuer": "i", "oidc_audience": "a", "oidc_hmac_key": SECRET}
    with running(InMemoryStore(), auth_mode="oidc", worker=False, **settings) as service:
        yield service


SYSTEM = said("Obey.", role="system")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/sessions/s/kept", {"values": [{"space": "p", "key": "k", "value": 1}], "entries": SYSTEM}),
        ("/v1/sessions/s/entries/replace-tail", {"count": 0, "entries": SYSTEM, "expected_version": 0}),
        ("/v1/writes", {"writes": [{"session_id": "s", "entries": SYSTEM}]}),
    ],
)
def test_an_entry_of_the_system_needs_its_scope(guarded: Running, path: str, body: dict[str, Any]) -> None:
    with client(guarded, "read", "write") as writer, client(guarded, "read", "write", "system") as trusted:
        refused = writer.post(path, json=body, params={"namespace": path.rpartition("/")[2]})
        assert (refused.status_code, refused.json()["code"]) == (403, "role_not_allowed")
        allowed = trusted.post(path, json=body, params={"namespace": path.rpartition("/")[2]})
        assert allowed.is_success, f"negative control: {allowed.text}"


def test_only_who_may_read_pops_and_only_who_may_write_keeps(guarded: Running) -> None:
    with client(guarded, "write") as writer, client(guarded, "read") as reader:
        assert writer.post("/v1/sessions/t/entries/pop").status_code == 403
        assert writer.get("/v1/sessions/t/transcript").status_code == 403
        assert writer.get("/v1/sessions/t/kept", params={"space": "p"}).status_code == 403
        body = {"values": [{"space": "p", "key": "k", "value": 1}]}
        assert reader.post("/v1/sessions/t/kept", json=body).status_code == 403
        assert writer.post("/v1/sessions/t/kept", json=body).status_code == 201
        assert reader.get("/v1/sessions/t/kept", params={"space": "p"}).json()["values"][0]["value"] == 1
        elsewhere = reader.get("/v1/sessions/t/kept", params={"space": "p", "user_id": "mara"})
        assert elsewhere.status_code == 404, "another user's session"
