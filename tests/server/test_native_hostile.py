"""Hostile inputs against the native routes: one clear answer, nothing written, at once (trust §9, P-11)."""

import time
from typing import Any, Final, NamedTuple

import httpx
import pytest

from tests.server.conftest import Running
from tests.server.test_native_sessions import SAID, say
from tests.support.http_client import JSON
from tests.support.patience import within

FUTURE: Final = "2999-01-01T00:00:00Z"


class Hostile(NamedTuple):
    """A request and its answer; a *body* of bytes is sent as it stands."""

    rule: str
    status: int
    code: str
    method: str = "POST"
    path: str = "/entries"
    body: Any = None
    params: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    field: str | None = None


def entry(rule: str, status: int, code: str, value: str, field: str | None = None) -> Hostile:
    """An entry whose metadata holds the JSON text *value*."""
    body = f'{{"entries":[{{"role":"user","content":"x","data":{value}}}]}}'
    return Hostile(rule, status, code, body=body.encode("utf-8", "surrogatepass"), field=field)


def said(rule: str, status: int, code: str, raw: dict[str, Any], field: str | None = None) -> Hostile:
    return Hostile(rule, status, code, body={"entries": [raw]}, field=field)


def at(rule: str, moment: str) -> Hostile:
    return Hostile(rule, 422, "bad_time", "GET", "/state", params={"at": moment})


DEEP = "[" * 31 + "]" * 31
BATCH = [*({"role": "user", "content": str(number)} for number in range(57)), {"role": "user", "content": ""}]
HOSTILE: Final = [
    entry("I-1", 422, "nul_not_allowed", r'"a\u0000b"'),
    entry("I-2", 422, "nul_not_allowed", r'{"\u0000":1}'),
    entry("I-3", 422, "invalid_unicode", r'"\ud800"'),
    entry("I-4", 422, "invalid_unicode", r'"\udc00\ud800"'),
    entry("I-5 NaN", 400, "invalid_json", "NaN"),
    entry("I-5 -Infinity", 400, "invalid_json", "-Infinity"),
    entry("I-6", 422, "number_out_of_range", "1e400"),
    entry("I-7", 422, "number_out_of_range", f"[{','.join(['1e131071'] * 100)}]"),
    entry("I-8", 422, "number_out_of_range", f"[{','.join(['1e131071'] * 900)}]"),
    entry("I-9", 422, "number_out_of_range", "9" * 5_000),
    entry("I-11", 422, "number_out_of_range", str(2**64)),
    entry("I-13", 422, "number_out_of_range", "1e-20000"),
    Hostile("I-14", 422, "duplicate_key", body=b'{"entries":[{"role":"user","role":"system","content":"x"}]}'),
    entry("I-15 33", 422, "too_deep", DEEP),
    entry("I-15 1,100", 422, "too_deep", "[" * 1_100 + "]" * 1_100),
    entry("I-15 100,000", 422, "too_deep", "[" * 100_000),
    Hostile("I-29 text", 422, "wrong_type", body={"entries": SAID, "expected_version": "5"}, field="expected_version"),
    Hostile("I-29 true", 422, "wrong_type", body={"entries": SAID, "expected_version": True}),
    Hostile("I-29 1.0", 422, "wrong_type", body=b'{"entries":[{"role":"user","content":"x"}],"expected_version":1.0}'),
    Hostile("I-29 flag", 422, "wrong_type", path="/compact", body={"force": 1}, field="force"),
    Hostile("I-30", 422, "unknown_field", body={"entries": SAID, "ttl": 5}, field="ttl"),
    said("I-30 entry", 422, "unknown_field", {"role": "user", "content": "x", "who": "me"}, "entries[0].who"),
    Hostile("I-30 query", 422, "unknown_field", "GET", "/stats", params={"verbose": "1"}),
    *(
        said(f"I-31 {role!a}", 422, "unknown_role", {"role": role, "content": "x"}, "entries[0].role")
        for role in ("System", "system ", "s\u0443stem", "\uff53\uff59\uff53\uff54\uff45\uff4d", "")
    ),
    said("I-33", 422, "empty_content", {"role": "user", "content": " \n"}, "entries[0].content"),
    Hostile("I-33 edit", 422, "empty_content", "PATCH", "/entries/m-1", body={"content": ""}),
    Hostile("I-36 dots", 404, "entry_not_found", "GET", "/entries/..%2e", body=None),
    Hostile("I-36 slash", 404, "not_found", "GET", "/entries/..%2F..%2Fetc%2Fpasswd"),
    Hostile("I-37 NUL", 422, "bad_name", "GET", "/entries/a%00b"),
    Hostile("I-37 ff", 422, "bad_name", "GET", "/entries/a%ffb"),
    Hostile("I-38 path", 414, "path_too_long", "GET", "/entries/" + "a" * 60_000),
    said("I-38 body", 422, "bad_id", {"role": "user", "content": "x", "entry_id": "a" * 60_000}, "entries[0].entry_id"),
    Hostile("I-39 id", 422, "bad_id", "GET", "/entries/'%20OR%201=1--"),
    Hostile("I-40", 422, "unknown_field", "GET", "/events", params={"sort": "id;select pg_sleep(5)"}),
    *(
        Hostile(f"I-41 {limit}", 422, "bad_limit", "GET", "/events", params={"limit": limit})
        for limit in ("-1", "0", "1001", str(10**20), "1e3", "", "\u0661")
    ),
    Hostile("I-41 twice", 422, "bad_limit", "GET", "/events", params=[("limit", "1"), ("limit", "2")]),
    at("I-43 future", FUTURE),
    at("I-43 year 0", "0000-01-01T00:00:00Z"),
    at("I-43 year 10000", "10000-01-01T00:00:00Z"),
    at("I-43 30 Feb", "2026-02-30T00:00:00Z"),
    at("I-43 :60", "2026-01-01T00:00:60Z"),
    at("I-43 no zone", "2026-01-01T00:00:00"),
    at("I-43 +99:99", "2026-01-01T00:00:00+99:99"),
    Hostile("I-43 diff", 422, "bad_time", path="/diff", body={"before": {"at": FUTURE}}),
    Hostile("I-45 -1", 422, "out_of_bounds", body={"entries": SAID, "expected_version": -1}),
    Hostile("I-45 2^63", 422, "number_out_of_range", body={"entries": SAID, "expected_version": 2**63}),
    Hostile(
        "I-45 stale",
        409,
        "version_conflict",
        body={"entries": [{"role": "user", "content": "x"}], "expected_version": 2},
    ),
    Hostile("I-48 empty", 422, "bad_idempotency_key", body={"entries": SAID}, headers={"Idempotency-Key": ""}),
    Hostile(
        "I-48 10 KB", 422, "bad_idempotency_key", body={"entries": SAID}, headers={"Idempotency-Key": "k" * 10_240}
    ),
    Hostile("I-48 space", 422, "bad_idempotency_key", body={"entries": SAID}, headers={"Idempotency-Key": "a b"}),
    Hostile("I-49", 422, "empty_content", body={"entries": [*BATCH, *BATCH[:42]]}, field="entries[57].content"),
    Hostile("N-6 none", 422, "batch_size", body={"entries": []}),
    Hostile("N-6 1,001", 422, "batch_size", body={"entries": [{"role": "user", "content": "x"}] * 1_001}),
    Hostile("I-51 keep", 422, "out_of_bounds", path="/compact", body={"keep_tokens": -1}, field="keep_tokens"),
    Hostile("I-51 key", 422, "no_compaction", path="/compact", body={"key": "nothing"}, field="key"),
    Hostile("I-25", 415, "unsupported_encoding", body=b"{}", headers={"Content-Encoding": "gzip"}),
    Hostile("I-28", 415, "unsupported_media_type", body=b"{}", headers={"Content-Type": "text/plain"}),
    Hostile("if-match", 422, "bad_if_match", path="/clear", headers={**JSON, "If-Match": "5"}),
    Hostile("import", 415, "unsupported_media_type", path="/import", body={"format": "x"}),
    Hostile(
        "import zip", 422, "bad_line", path="/import", body=b"PK\x03\x04", headers={"Content-Type": "application/jsonl"}
    ),
    Hostile("config", 422, "bad_config", "PUT", "/config", body={"config": 5}),
    Hostile("config deep", 422, "bad_config", "PUT", "/config", body={"config": {"window": {"type": [[[]]]}}}),
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.rule.replace("/", "-"))
def test_a_hostile_request_gets_one_clear_answer_and_writes_nothing(
    api: httpx.Client, session: str, hostile: Hostile
) -> None:
    say(api, session)
    whole = {"content": hostile.body} if isinstance(hostile.body, bytes) else {"json": hostile.body}
    headers = {"content-type": "application/json"} if isinstance(hostile.body, bytes) else {}
    began = time.perf_counter()
    answer = api.request(
        hostile.method,
        f"/v1/sessions/{session}{hostile.path}",
        params=hostile.params,
        headers=headers | {name.lower(): value for name, value in hostile.headers.items()},
        **({} if hostile.body is None else whole),
    )
    assert time.perf_counter() - began < within(1)
    assert answer.status_code == hostile.status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    answers = answer.json()
    assert hostile.code in {"", answers["code"]}
    assert hostile.field in {None, answers.get("field")}, answers
    assert len(answer.content) < 2_000, "what was sent is not sent back"
    assert api.get(f"/v1/sessions/{session}/stats").json()["version"] == 3


STORED: Final = {
    "I-10": (2**53 + 1, str(2**53 + 1)),
    "I-12 -0.0": (-0.0, "-0.0"),
    "I-12 1.0": (1.0, "1.0"),
    "I-12 1e2": (1e2, "100.0"),
    "I-39 sql": ("' OR 1=1--\"; DROP TABLE events;--", None),
    "I-39 jndi": ("${jndi:ldap://x} {{7*7}}", None),
    "I-34": ("\u200b\u202e\ufeff\U000e0041", None),
}


@pytest.mark.parametrize("rule", STORED)
def test_content_that_only_looks_hostile_is_stored_unchanged(api: httpx.Client, session: str, rule: str) -> None:
    value, written = STORED[rule]
    raw = {"role": "user", "content": value if isinstance(value, str) else "x", "data": {"v": value}, "entry_id": "m"}
    say(api, session, [raw])
    answer = api.get(f"/v1/sessions/{session}/entries/m")
    assert answer.json()["data"] == {"v": value}
    assert answer.json()["content"] == raw["content"]
    assert written is None or f'"v":{written}' in answer.text


def test_names_that_only_look_alike_are_two_sessions(api: httpx.Client, session: str) -> None:
    """trust I-35."""
    composed, decomposed = f"{session}-\u00e9", f"{session}-e\u0301"
    say(api, composed)
    assert api.get(f"/v1/sessions/{decomposed}/stats").status_code == 404
    assert api.get(f"/v1/sessions/{composed}/stats").status_code == 200


def test_times_of_a_client_are_claims(api: httpx.Client, session: str) -> None:
    """trust I-44."""
    times = ["2099-01-01T00:00:00Z", "1970-01-01T00:00:00Z"]
    say(api, session, [{"role": "user", "content": moment, "created_at": moment} for moment in times])
    messages = api.get(f"/v1/sessions/{session}/state").json()["entries"]
    assert [message["content"] for message in messages] == times


ROUTES: Final = [
    ("GET", "/stats", None),
    ("GET", "/state", None),
    ("GET", "/context", None),
    ("GET", "/config", None),
    ("GET", "/events", None),
    ("GET", "/events/stream", None),
    ("GET", "/entries/m-1", None),
    ("GET", "/entries/m-1/derived", None),
    ("GET", "/export", None),
    ("GET", "/seen", None),
    ("PATCH", "/entries/m-1", {"content": "x"}),
    ("DELETE", "/entries/m-1", None),
    ("POST", "/entries/m-1/restore", {}),
    ("POST", "/clear", None),
    ("POST", "/compact", {}),
    ("POST", "/diff", {"before": {}, "after": {}}),
    ("POST", "/config/check", {"config": {}}),
    ("POST", "/verify", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES, ids=[f"{item[0]} {item[1]}" for item in ROUTES])
def test_a_session_of_another_namespace_answers_like_a_missing_one(
    service: Running, api: httpx.Client, session: str, method: str, path: str, body: Any
) -> None:
    """trust I-81: the same words, whatever other namespaces and users hold."""
    say(api, session)
    answers = []
    with httpx.Client(base_url=service.url, timeout=10, headers=JSON) as other:
        for params in ({"namespace": "not-" + session}, {**dict(api.params), "user_id": "mallory"}):
            answer = other.request(method, f"/v1/sessions/{session}{path}", params=params, json=body)
            answers.append((answer.status_code, answer.json()))
        absent = other.request(method, f"/v1/sessions/{session}{path}", params={"namespace": "none"}, json=body)
    assert absent.status_code == 404, absent.text
    assert answers == [(404, absent.json())] * 2
