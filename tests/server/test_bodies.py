"""Bodies and parameters at the two doors: ours, strict, and that of the working-memory API."""

import json

import httpx
import pytest

from tests.server.conftest import Running
from tests.support import http_client

JSON = {"content-type": "application/json"}


def post(service: Running, body: bytes, path: str = "/v1/probe", **headers: str) -> httpx.Response:
    return http_client.post(f"{service.url}{path}", content=body, headers={**JSON, **headers})


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{}", 200, None),
        (b'{"role":"a\\u0000b"}', 422, "nul_not_allowed"),  # trust I-1
        (b'{"\\u0000":1}', 422, "nul_not_allowed"),  # trust I-2
        (b'{"role":"\\ud800"}', 422, "invalid_unicode"),  # trust I-3
        (b'{"count":NaN}', 400, "invalid_json"),  # trust I-5
        (b'{"count":1e400}', 422, "number_out_of_range"),  # trust I-6
        (b'{"count":' + b"9" * 5000 + b"}", 422, "number_out_of_range"),  # trust I-9
        (b'{"role":"user","role":"system"}', 422, "duplicate_key"),  # trust I-14
        (b'{"nested":' + b'{"a":' * 33 + b"1" + b"}" * 34, 422, "too_deep"),  # trust I-15
        (b"[" * 100_000, 422, "too_deep"),
        (b'{"role":"\xff"}', 400, "invalid_encoding"),  # trust I-27
        (b"\xef\xbb\xbf{}", 400, "invalid_encoding"),  # trust I-26
        ("{}".encode("utf-16"), 400, "invalid_encoding"),
        (b'{"count":"5"}', 422, "wrong_type"),  # trust I-29
        (b'{"count":true}', 422, "wrong_type"),
        (b'{"count":1.0}', 422, "wrong_type"),
        (b'{"nonsense":1}', 422, "unknown_field"),  # trust I-30
        (b"[]", 422, "wrong_type"),
        (b"", 422, "missing_field"),
        (b"nonsense", 400, "invalid_json"),
    ],
)
def test_native_routes_refuse_unknown_fields(service: Running, body: bytes, status: int, code: str | None) -> None:
    answer = post(service, body)
    assert answer.status_code == status, answer.text
    assert answer.json().get("code") == code
    if code:
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"content-type": "text/plain"}, "unsupported_media_type"),  # trust I-28
        ({"content-type": ""}, "unsupported_media_type"),
        ({"content-type": "application/json; charset=utf-16"}, "unsupported_encoding"),
        ({"content-encoding": "gzip"}, "unsupported_encoding"),  # trust I-25
    ],
)
@pytest.mark.parametrize("path", ["/v1/probe", "/v1/memory/probe"])
def test_only_plain_json_is_taken(service: Running, headers: dict[str, str], code: str, path: str) -> None:
    """trust I-25, I-28, also of the working-memory API: http W-3 makes no exception."""
    answer = post(service, b"{}", path, **headers)
    assert answer.status_code == 415
    assert answer.json().get("code", code) == code


def test_json_with_a_charset_is_json(service: Running) -> None:
    assert post(service, b"{}", **{"content-type": "Application/JSON; charset=UTF-8"}).status_code == 200


def test_the_working_memory_api_ignores_unknown_fields(service: Running) -> None:
    """http W-3, C5."""
    answer = post(service, b'{"nonsense":1,"count":"5"}', "/v1/memory/probe?nonsense=2")
    assert (answer.status_code, answer.json()) == (200, {"role": "user", "count": 5})


@pytest.mark.parametrize("body", [b"nonsense", b"{", b'{"tokens":NaN}', b'{"context":"\xff"}', "{}".encode("utf-16")])
def test_what_is_malformed_is_422_there(service: Running, body: bytes) -> None:
    """http W-3, W-4."""
    answer = http_client.put(f"{service.url}/v1/working-memory/malformed", content=body, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["detail"][0].keys() == {"type", "loc", "msg"}


@pytest.mark.parametrize("name", ["tokens", "ttl_seconds"])
def test_a_number_is_not_accepted_as_a_flag_there(service: Running, name: str) -> None:
    """http W-3: it may come as text."""
    session = f"{service.url}/v1/working-memory/numbers-{name}"
    assert http_client.put(session, json={name: True}).status_code == 422
    assert http_client.put(session, json={name: "5"}).json()[name] == 5


def test_the_working_memory_api_refuses_in_its_own_form(service: Running) -> None:
    """http W-4: the input is not echoed."""
    answer = post(service, json.dumps({"count": "geheim"}).encode(), "/v1/memory/probe")
    assert answer.status_code == 422
    (fault,) = answer.json()["detail"]
    assert fault.keys() == {"type", "loc", "msg"}
    assert fault["loc"] == ["body", "count"]
    assert "geheim" not in answer.text
    answer = post(service, b'{"role":"a","role":"b"}', "/v1/memory/probe")
    assert answer.json()["detail"][0]["type"] == "duplicate_key"


@pytest.mark.parametrize("limit", ["-1", "0", "1001", "1" + "0" * 20, "1e3", "1.0", "+5", "\uff15", "", "1_0"])
def test_a_limit_is_a_whole_number_in_plain_digits(service: Running, limit: str) -> None:
    """trust I-41."""
    answer = http_client.get(f"{service.url}/v1/probe/list", params={"limit": limit})
    assert (answer.status_code, answer.json().get("code")) == (422, "bad_limit"), answer.text


@pytest.mark.parametrize(
    ("version", "message"),
    [("-1", "must be at least 0"), ("9" * 19, "must be between 0 and 9,223,372,036,854,775,807")],
)
def test_a_number_out_of_bounds_is_refused_with_its_bound(service: Running, version: str, message: str) -> None:
    answer = http_client.get(f"{service.url}/v1/sessions/s/state", params={"version": version})
    assert (answer.status_code, answer.json()["detail"]) == (422, f"version: {message}")


def test_a_limit_comes_once(service: Running) -> None:
    """trust I-41."""
    assert http_client.get(f"{service.url}/v1/probe/list?limit=7").json() == 7
    assert http_client.get(f"{service.url}/v1/probe/list?limit=1&limit=2").json()["code"] == "bad_limit"


def test_a_conflict_names_the_version_of_the_stream(service: Running) -> None:
    """http W-63."""
    answer = http_client.get(f"{service.url}/v1/probe/conflict")
    assert answer.status_code == 409
    assert (answer.json()["code"], answer.json()["current_version"]) == ("version_conflict", 7)


@pytest.mark.parametrize("path", ["/v1/probe/away", "/v1/memory/probe/away"])
def test_a_store_that_is_away_is_503_with_a_time_to_come_back(service: Running, path: str) -> None:
    """http W-5."""
    answer = http_client.get(f"{service.url}{path}")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


def test_the_answer_to_a_crash_has_no_details(service: Running) -> None:
    """trust P-16."""
    answer = http_client.get(f"{service.url}/v1/probe/crash?text=geheim")
    assert (answer.status_code, answer.json()["code"]) == (500, "ledger_error")
    assert "geheim" not in answer.text
    assert "secret" not in answer.text
