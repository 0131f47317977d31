"""The native API, route by route, over a real server and a real PostgreSQL (http W-63 … W-72)."""

import time
from typing import Any

import httpx

from tests.server.conftest import Running
from tests.support.http_client import etag_at, shown_version

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "Book a table for two", "entry_id": "m-1", "tokens": 10},
    {"role": "assistant", "content": "For when?", "entry_id": "m-2", "tokens": 10},
]


def say(api: httpx.Client, session: str, entries: list[dict[str, Any]] = SAID, **headers: str) -> httpx.Response:
    answer = api.post(f"/v1/sessions/{session}/entries", json={"entries": entries}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer


def active(state: dict[str, Any]) -> list[str]:
    return [entry["entry_id"] for entry in state["entries"] if entry["status"] == "active"]


def test_entries_are_added_and_the_session_begins(api: httpx.Client, session: str) -> None:
    """http W-65."""
    answer = say(api, session)
    assert shown_version(answer) == 3
    answers = answer.json()
    assert (answers["session_id"], answers["version"]) == (session, 3)
    assert [(entry["entry_id"], entry["version"], entry["known"]) for entry in answers["entries"]] == [
        ("m-1", 2, False),
        ("m-2", 3, False),
    ]
    assert all(len(entry["hash"]) == 64 for entry in answers["entries"])
    again = say(api, session)
    assert again.json()["entries"] == [{**entry, "known": True} for entry in answers["entries"]]
    other = api.post(f"/v1/sessions/{session}/entries", json={"entries": [{**SAID[0], "content": "Book three"}]})
    assert (other.status_code, other.json()["code"]) == (409, "duplicate_entry")


def test_an_entry_is_shown_with_all_that_was_recorded_of_it(api: httpx.Client, session: str) -> None:
    """http W-65."""
    say(api, session)
    edited = api.patch(f"/v1/sessions/{session}/entries/m-1", json={"content": "Book a table for three"})
    assert (edited.status_code, edited.json()) == (200, {"version": 4})
    found = api.get(f"/v1/sessions/{session}/entries/m-1").json()
    assert (found["content"], found["status"]) == ("Book a table for three", "active")
    assert [(change["type"], change["content"]) for change in found["history"]] == [
        ("entry.added", "Book a table for two"),
        ("entry.edited", "Book a table for three"),
    ]
    assert api.delete(f"/v1/sessions/{session}/entries/m-1").json() == {"version": 5}
    removed = api.get(f"/v1/sessions/{session}/entries/m-1").json()
    assert (removed["status"], len(removed["history"])) == ("removed", 3)
    again = api.delete(f"/v1/sessions/{session}/entries/m-1")
    assert (again.status_code, again.json()["code"]) == (404, "entry_not_found")


def test_the_log_is_listed_in_pages_and_chained(api: httpx.Client, session: str) -> None:
    """http W-67."""
    say(api, session)
    events, after = [], 0
    while after is not None:
        page = api.get(f"/v1/sessions/{session}/events", params={"after_version": after, "limit": 2}).json()
        events.extend(page["events"])
        after = page["next_after"]
    assert [event["type"] for event in events] == ["session.opened", "entry.added", "entry.added"]
    assert events[0]["previous_hash"] == "0" * 64
    assert [event["previous_hash"] for event in events[1:]] == [event["hash"] for event in events[:-1]]
    assert len({event["write_id"] for event in events[1:]}) == 1
    only = api.get(f"/v1/sessions/{session}/events", params={"type": "entry.added", "limit": 1}).json()
    assert ([event["version"] for event in only["events"]], only["next_after"], only["version"]) == ([2], 2, 3)


def test_state_and_context_go_back_in_time(api: httpx.Client, session: str) -> None:
    """http W-68."""
    say(api, session)
    api.delete(f"/v1/sessions/{session}/entries/m-2")
    now = api.get(f"/v1/sessions/{session}/state").json()
    assert (now["status"], now["version"], active(now)) == ("live", 4, ["m-1"])
    assert [(item["entry_id"], item["status"]) for item in now["entries"]] == [("m-1", "active")]
    then = api.get(f"/v1/sessions/{session}/state", params={"version": 3}).json()
    assert active(then) == ["m-1", "m-2"]
    at = api.get(f"/v1/sessions/{session}/state", params={"at": now["created_at"]}).json()
    assert at["version"] >= 1
    shown = api.get(f"/v1/sessions/{session}/context", params={"version": 3}).json()
    assert [shown_item["content"] for shown_item in shown["messages"]] == ["Book a table for two", "For when?"]
    assert (shown["tokens"], shown["hidden"]) == (20, 0)
    assert shown["budget"] == {
        **dict.fromkeys(("system", "pinned", "current_turn", "summaries", "recalled", "knowledge", "excess"), 0),
        "history": 20,
        "tokens": 20,
        "limit": 50_000,
        "over_budget": False,
    }
    small = api.get(f"/v1/sessions/{session}/context", params={"version": 3, "context_window_max": 15}).json()
    assert ([item["content"] for item in small["messages"]], small["hidden"]) == (["For when?"], 1)
    assert (small["budget"]["limit"], small["budget"]["history"]) == (15, 10)
    text = api.get(f"/v1/sessions/{session}/context", params={"format": "text", "model_name": "gpt-4o"}).json()
    assert ("Book a table for two" in text["text"], text["messages"], text["budget"]["limit"]) == (True, None, 50_000)
    unknown = [{"version": 99}, {"at": "2001-01-01T00:00:00Z"}]
    assert [api.get(f"/v1/sessions/{session}/state", params=item).status_code for item in unknown] == [404, 404]
    both = api.get(f"/v1/sessions/{session}/state", params={"version": 1, "at": now["created_at"]})
    assert both.status_code == 422


def test_stats_count_entries_by_what_became_of_them(api: httpx.Client, session: str) -> None:
    """http W-69."""
    say(api, session)
    api.delete(f"/v1/sessions/{session}/entries/m-2")
    stats = api.get(f"/v1/sessions/{session}/stats").json()
    assert (stats["version"], stats["writes"]) == (4, 3)
    entries = [stats[f"{name}_entries"] for name in ("total", "active", "compressed", "removed", "erased")]
    assert entries == [2, 1, 0, 1, 0]
    assert (stats["total_tokens"], stats["active_tokens"], stats["summaries"]) == (10, 10, 0)
    assert (stats["memories"], stats["promoted_memories"]) == (0, 0)


def test_a_compaction_runs_once_for_an_idempotency_key(api: httpx.Client, session: str) -> None:
    """http W-69, W-64, trust I-51."""
    long = [{"role": "user", "content": f"word {number} " * 200, "entry_id": f"m-{number}"} for number in range(6)]
    small = {"maxEntries": 50, "recentWindow": 2, "minEntriesToCompress": 2}
    assert api.put(f"/v1/sessions/{session}/config", json={"config": small}).status_code == 200
    say(api, session, long)
    plan = api.post(f"/v1/sessions/{session}/compact", json={"force": True, "dry_run": True}).json()
    assert (plan["compaction_id"], plan["summary"], plan["version"]) == (None, None, 7)
    headers = {"Idempotency-Key": "compact-1"}
    done = api.post(f"/v1/sessions/{session}/compact", json={"force": True}, headers=headers)
    assert done.status_code == 200, done.text
    assert (done.json()["covered"], done.json()["method"]) == (plan["covered"], "heuristic")
    assert done.json()["tokens_after"] < done.json()["tokens_before"] == plan["tokens_before"]
    again = api.post(f"/v1/sessions/{session}/compact", json={"force": True}, headers=headers)
    assert (again.json(), again.headers["idempotent-replayed"]) == (done.json(), "true")
    entry = api.get(f"/v1/sessions/{session}/entries/m-0").json()
    assert (entry["status"], len(entry["summary_ids"])) == ("covered", 1)
    empty = api.post(f"/v1/sessions/{session}/compact", json={})
    assert (empty.status_code, empty.json()["code"]) == (409, "not_enough_entries")
    assert api.post("/v1/sessions/nobody/compact", json={}).status_code == 404


def test_clear_empties_the_window_and_leaves_the_session_live(api: httpx.Client, session: str) -> None:
    """http W-69."""
    say(api, session)
    assert api.post(f"/v1/sessions/{session}/clear").json() == {"version": 4}
    state = api.get(f"/v1/sessions/{session}/state").json()
    assert (state["status"], state["entries"]) == ("live", [])
    assert api.get(f"/v1/sessions/{session}/entries/m-1").json()["status"] == "cleared"
    assert api.post("/v1/sessions/nobody/clear").status_code == 404


def test_a_config_is_put_whole_and_begins_a_session(api: httpx.Client, session: str) -> None:
    """http W-69."""
    wanted = {"window": {"type": "max_tokens", "memory_max_tokens": 5}}
    put = api.put(f"/v1/sessions/{session}/config", json={"config": wanted})
    assert (put.status_code, put.json()["version"]) == (200, 1)
    assert api.get(f"/v1/sessions/{session}/config").json() == put.json()
    say(api, session, [*SAID, {"role": "user", "content": "Tonight"}])
    assert api.get(f"/v1/sessions/{session}/context").json()["hidden"] == 2
    bad = api.put(f"/v1/sessions/{session}/config", json={"config": {"window": {"type": "max_token"}}})
    assert (bad.status_code, bad.json()["code"], bad.json()["field"]) == (422, "bad_config", "window.type")


def test_a_diff_shows_what_changed_and_what_another_config_would_change(api: httpx.Client, session: str) -> None:
    """http W-72."""
    say(api, session)
    api.patch(f"/v1/sessions/{session}/entries/m-1", json={"content": "Book a table for three"})
    api.delete(f"/v1/sessions/{session}/entries/m-2")
    say(api, session, [{"role": "user", "content": "Tonight", "entry_id": "m-3", "tokens": 5}])
    diff = api.post(f"/v1/sessions/{session}/diff", json={"before": {"version": 3}, "after": {}}).json()
    changes = diff["changes"]
    assert [change["entry_id"] for change in changes["entries"]["added"]] == ["m-3"]
    assert [change["entry_id"] for change in changes["entries"]["removed"]] == ["m-2"]
    assert [(change["before"]["content"], change["after"]["content"]) for change in changes["entries"]["edited"]] == [
        ("Book a table for two", "Book a table for three")
    ]
    assert (changes["data"], changes["versions"]) == ([], {"before": 3, "after": 6})
    tried = api.post(
        f"/v1/sessions/{session}/diff", json={"what_if": {"window": {"type": "max_tokens", "memory_max_tokens": 6}}}
    )
    assert tried.status_code == 200, tried.text
    assert api.get(f"/v1/sessions/{session}/stats").json()["version"] == 6, "a what-if writes nothing"


def test_an_export_is_imported_whole_and_once(api: httpx.Client, session: str) -> None:
    """http W-70, trust I-70."""
    say(api, session)
    exported = api.get(f"/v1/sessions/{session}/export")
    assert (exported.status_code, exported.headers["content-type"]) == (200, "application/jsonl")
    lines = {"content-type": "application/jsonl"}
    copy = f"/v1/sessions/{session}-copy"
    first = api.post(f"{copy}/import", content=exported.content, headers=lines)
    assert (first.status_code, first.json()["entries"], first.json()["version"]) == (201, 2, 3)
    again = api.post(f"{copy}/import", content=exported.content, headers=lines)
    assert (again.status_code, again.json()["entries"]) == (200, 0)
    assert api.get(f"{copy}/state").json()["entries"][0]["content"] == "Book a table for two"
    changed = exported.content.replace(b'"version":2', b'"version":3', 1)
    bad = api.post(f"/v1/sessions/{session}-bad/import", content=changed, headers=lines)
    assert bad.status_code == 422
    assert api.get(f"/v1/sessions/{session}-bad/stats").status_code == 404, "nothing is stored"
    say(api, f"{session}-other")
    taken = api.post(f"/v1/sessions/{session}-other/import", content=exported.content, headers=lines)
    assert (taken.status_code, taken.json()["code"]) == (409, "session_exists")


def test_a_session_is_proved(api: httpx.Client, session: str) -> None:
    """http W-72."""
    answer = say(api, session)
    verdict = api.post(f"/v1/sessions/{session}/verify").json()
    assert (verdict["verdict"], verdict["checked"], verdict["findings"]) == ("OK-CHAINED", 3, [])
    assert verdict["head"] == {"version": 3, "hash": answer.json()["entries"][-1]["hash"]}


def test_what_a_model_saw_and_what_an_entry_reached_are_shown(api: httpx.Client, session: str) -> None:
    say(api, session)
    seen = api.get(f"/v1/sessions/{session}/seen").json()
    assert (seen["verdict"], seen["recorded"]) == ("not_recorded", None)
    assert {line["source"]["id"] for line in seen["lines"] if line["source"]} == {"m-1", "m-2"}
    reached = api.get(f"/v1/sessions/{session}/entries/m-1/derived").json()
    assert (reached["versions"], reached["summaries"]) == ([2], [])


def test_search_finds_texts_of_a_session(api: httpx.Client, session: str) -> None:
    say(api, session)
    found = api.post("/v1/search", json={"query": "table"}).json()["results"]
    assert [(result["session_id"], result["entry"]["entry_id"]) for result in found] == [(session, "m-1")]
    assert api.post("/v1/search", json={"query": "table", "session_id": "nobody"}).status_code == 404


def test_sessions_are_listed_in_pages(api: httpx.Client, session: str) -> None:
    """http W-65."""
    names = [f"{session}-{number}" for number in range(5)]
    for name in names:
        say(api, name)
    listed, cursor = [], None
    while True:
        page = api.get("/v1/sessions", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        listed.extend(page["sessions"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [item["session_id"] for item in listed] == names[::-1]
    assert {(item["status"], item["active"], item["total_tokens"], item["version"]) for item in listed} == {
        ("live", 2, 20, 3)
    }
    assert api.get("/v1/sessions", params={"status": "ended"}).json()["sessions"] == []
    assert len(api.get("/v1/sessions", params={"status": "live"}).json()["sessions"]) == 5
    assert api.get("/v1/sessions", params={"user_id": "alice"}).json() == {"sessions": [], "next_cursor": None}


def test_sessions_with_and_without_a_user_are_different(api: httpx.Client, session: str) -> None:
    """http W-63: the triple is exact."""
    say(api, session)
    assert api.get(f"/v1/sessions/{session}/stats", params={"user_id": "alice"}).status_code == 404
    assert api.get(f"/v1/sessions/{session}/stats", params={"user_id": ""}).status_code == 200


def test_a_fork_shares_history_and_then_changes_alone(api: httpx.Client, session: str) -> None:
    """http W-70."""
    say(api, session)
    body = {"session_id": f"{session}-fork", "version": 2}
    created = api.post(f"/v1/sessions/{session}/fork", json=body, headers={"Idempotency-Key": "f"})
    assert (created.status_code, created.json()["at_version"], created.json()["version"]) == (201, 2, 3)
    again = api.post(f"/v1/sessions/{session}/fork", json=body, headers={"Idempotency-Key": "f"})
    assert (again.json(), again.headers["idempotent-replayed"]) == (created.json(), "true")
    say(api, f"{session}-fork", [{"role": "user", "content": "Elsewhere"}])
    state = api.get(f"/v1/sessions/{session}-fork/state").json()
    assert [entry["content"] for entry in state["entries"]] == ["Book a table for two", "Elsewhere"]
    log = api.get(f"/v1/sessions/{session}-fork/events").json()["events"]
    assert [event["version"] for event in log] == [1, 2, 3, 4]
    assert log[2]["previous_hash"] == log[1]["hash"]
    assert api.post(f"/v1/sessions/{session}-fork/verify").json()["verdict"] == "OK-CHAINED"
    taken = api.post(f"/v1/sessions/{session}/fork", json=body)
    assert (taken.status_code, taken.json()["code"]) == (409, "session_exists")
    stale = api.post(
        f"/v1/sessions/{session}/fork", json={"session_id": "x"}, headers={"If-Match": etag_at(api, session, 2)}
    )
    assert stale.status_code == 412


def test_an_entry_that_a_summary_stands_for_cannot_be_changed(api: httpx.Client, session: str) -> None:
    """http W-65."""
    path = f"/v1/sessions/{session}/entries"
    said = [{"role": "user", "content": f"message {number} " * 40, "entry_id": f"m-{number}"} for number in range(12)]
    assert api.post(path, json={"entries": said}).status_code == 201
    assert api.post(f"/v1/sessions/{session}/compact", json={"force": True}).status_code == 200
    assert api.get(f"{path}/m-0").json()["status"] == "covered"
    for refused in (api.patch(f"{path}/m-0", json={"content": "other"}), api.delete(f"{path}/m-0")):
        assert (refused.status_code, refused.json()["code"]) == (409, "entry_covered")
        assert "a summary stands for this entry" in refused.json()["detail"]
    unknown = api.delete(f"{path}/m-99")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "entry_not_found")


def test_a_config_is_checked_alone_and_on_a_session(service: Running, api: httpx.Client, session: str) -> None:
    say(api, session)
    never = {"window": {"type": "max_tokens", "conditions": ["message.role == 'tool'"]}}
    alone, on_session = f"{service.url}/v1/config/check", f"{service.url}/v1/sessions/{session}/config/check"
    for url, params in ((alone, None), (on_session, dict(api.params))):
        (finding,) = httpx.post(url, params=params, json={"config": never}).json()["findings"]
        assert (finding["code"], finding["field"]) == ("condition_never_true", "window.conditions[0]")
        assert httpx.post(url, params=params, json={"config": {}}).json() == {"findings": []}
        for wrong in ({"window": {"type": "none"}}, 1):
            refused = httpx.post(url, params=params, json={"config": wrong})
            assert (refused.status_code, refused.json()["code"]) in {(422, "bad_config"), (422, "wrong_type")}


def test_a_rebuild_answers_at_once_and_tells_how_it_ended(api: httpx.Client, session: str) -> None:
    """R-RBD-1, http W-69."""
    say(api, session, [{"role": "user", "content": f"word {number}", "entry_id": f"m-{number}"} for number in range(9)])
    assert api.get(f"/v1/sessions/{session}/rebuild").status_code == 404
    wanted = {"profile": "rolling", "size": 3, "max_summaries": 2}
    put = api.put(f"/v1/sessions/{session}/config", json={"config": wanted, "rebuild": True})
    assert put.status_code == 202, put.text
    assert put.headers["etag"]
    found = until_it_ends(api, session)
    assert (found["status"], found["rebuild_id"]) == ("completed", put.json()["rebuild_id"])
    state = api.get(f"/v1/sessions/{session}/state").json()
    assert len(state["summaries"]) == 2
    config = api.get(f"/v1/sessions/{session}/config").json()
    assert (config["profile"], config["since"]) == ("rolling", found["ended_version"])


def until_it_ends(api: httpx.Client, session: str) -> dict[str, Any]:
    for _ in range(200):
        found = api.get(f"/v1/sessions/{session}/rebuild").json()
        if found["status"] != "running":
            return found
        time.sleep(0.05)
    raise AssertionError(found)
