"""Taking over another server's sessions and records: from a running service, and from servers that misbehave."""

import asyncio
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from ledger.errors import InvalidInput, LedgerError, NotAllowed, Unavailable
from ledger.server.ams_import import ACTOR, AmsImport, AmsImportResult, AmsSource, importer
from ledger.server.settings import load_service_settings
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore
from tests.cli.conftest import Cli, app_login, app_url, cli  # noqa: F401 - fixtures
from tests.server.conftest import Running, running

pytestmark = pytest.mark.postgres

FULL = {
    "messages": [
        {"id": "m1", "role": "user", "content": "Hello", "created_at": "2026-01-02T03:04:05.000006Z"},
        {"id": "m2", "role": "assistant", "content": "Hi", "created_at": "2026-01-02T03:04:06.000000Z"},
    ],
    "memories": [{"id": "f1", "text": "Likes tea", "memory_type": "semantic", "topics": ["drinks"]}],
    "data": {"step": 3, "deep": {"a": [1, 2]}},
    "context": "They talked before.",
    "tokens": 7,
    "long_term_memory_strategy": {"strategy": "summary", "config": {"max_summary_length": 50}},
    "ttl_seconds": 3600,
}


@pytest.fixture(scope="module")
def target() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture(scope="module")
def there(target: InMemoryStore) -> Iterator[Running]:
    """A service on what was taken over."""
    with running(target, worker=False) as in_flight:
        yield in_flight


def take(
    target: InMemoryStore, url: str, *, token: str | None = None, timeout_s: float = 10, **only: Any
) -> AmsImportResult:
    async def work() -> AmsImportResult:
        async with (
            AmsSource.open(url, token=token, timeout_s=timeout_s) as source,
            AmsImport.open(Settings(), load_service_settings(), store=target) as taking,
        ):
            return await taking.take(source, **only)

    return asyncio.run(work())


def put(api: httpx.Client, name: str, body: Any, **names: str) -> None:
    assert api.put(f"/v1/working-memory/{name}", json=body, params=names).status_code == 200


def test_what_a_service_keeps_is_the_same_elsewhere_and_the_second_time_nothing_is_written(
    service: Running, api: httpx.Client, there: Running, target: InMemoryStore, namespace: str, session: str
) -> None:
    put(api, session, {**FULL, "namespace": namespace}, user_id="mia")
    put(api, session, {"messages": [{**FULL["messages"][0], "id": "n1"}], "namespace": namespace})
    records = [
        {"id": f"{session}-{n}", "text": f"Fact {n}", "namespace": namespace, "user_id": "mia", "session_id": session}
        for n in range(120)
    ]
    assert api.post("/v1/long-term-memory/", json={"memories": records}).status_code == 200
    looked = take(target, service.url, namespace=namespace, dry_run=True)
    assert (looked.sessions, looked.records) == (2, 120)
    assert httpx.get(f"{there.url}/v1/working-memory/", params={"namespace": namespace}).json()["total"] == 0

    first = take(target, service.url, namespace=namespace)
    assert (first.sessions, first.messages, first.memories, first.records, first.refused) == (2, 3, 1, 120, [])
    for user in ({"user_id": "mia"}, {}):
        names = {"namespace": namespace, **user}
        before, after = (
            httpx.get(f"{url}/v1/working-memory/{session}", params=names).json() for url in (service.url, there.url)
        )
        stored = [
            {
                **each,
                "memories": [{**memory, "created_at": 0, "updated_at": 0, "last_accessed": 0} for memory in memories],
            }
            for each in (before, after)
            for memories in [each["memories"]]
        ]
        clock = {"last_accessed", "updated_at", "created_at"}
        assert {k: v for k, v in stored[0].items() if k not in clock} == {
            k: v for k, v in stored[1].items() if k not in clock
        }
    found = httpx.get(f"{there.url}/v1/long-term-memory/{session}-7").json()
    assert (found["text"], found["user_id"], found["namespace"]) == ("Fact 7", "mia", namespace)

    head = httpx.get(f"{there.url}/v1/sessions/{session}/stats", params={"namespace": namespace}).json()["version"]
    again = take(target, service.url, namespace=namespace)
    assert (again.sessions, again.unchanged, again.records, again.known_records) == (0, 2, 0, 120)
    assert (
        httpx.get(f"{there.url}/v1/sessions/{session}/stats", params={"namespace": namespace}).json()["version"] == head
    )
    events = httpx.get(f"{there.url}/v1/sessions/{session}/events", params={"namespace": namespace}).json()["events"]
    assert {event["actor"] for event in events} == {ACTOR}
    assert len({event["recorded_at"] for event in events}) == 1, "one transaction"


def test_what_was_gone_on_with_here_stays_and_the_rest_is_brought_up_to_date(
    service: Running, api: httpx.Client, there: Running, target: InMemoryStore, namespace: str
) -> None:
    for name in ("continued", "mirrored", "deleted"):
        put(api, name, FULL)
    api.post(
        "/v1/long-term-memory/", json={"memories": [{"id": f"{namespace}-r", "text": "Old", "namespace": namespace}]}
    )
    assert take(target, service.url, namespace=namespace).sessions == 3
    with httpx.Client(base_url=there.url, params={"namespace": namespace}) as here:
        body = {**here.get("/v1/working-memory/continued").json(), "data": {"step": 4}}
        assert here.put("/v1/working-memory/continued", json=body).status_code == 200
        assert here.delete("/v1/working-memory/deleted").status_code == 200
        assert here.delete("/v1/long-term-memory", params={"memory_ids": f"{namespace}-r"}).status_code == 200
        for name in ("continued", "mirrored", "deleted"):
            seen = api.get(f"/v1/working-memory/{name}").json()
            put(api, name, {**seen, "messages": seen["messages"][1:], "data": {"step": 9}})
        done = take(target, service.url, namespace=namespace)
        assert (done.sessions, done.continued, done.known_records) == (1, 2, 1)
        assert here.get("/v1/working-memory/continued").json()["data"]["step"] == 4
        mirrored = here.get("/v1/working-memory/mirrored").json()
        assert (mirrored["data"], [item["id"] for item in mirrored["messages"]]) == ({"step": 9}, ["m2"])
        assert here.get("/v1/working-memory/deleted").status_code == 404
        assert here.get(f"/v1/long-term-memory/{namespace}-r").status_code == 404


@pytest.mark.parametrize(("forgets", "costs"), [("_continued", "data"), ("_same", "version")])
def test_a_repetition_that_does_not_look_would_be_noticed(
    service: Running,
    api: httpx.Client,
    there: Running,
    target: InMemoryStore,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    forgets: str,
    costs: str,
) -> None:
    async def never(*arguments: object) -> bool:
        return False

    put(api, "s", FULL)
    take(target, service.url, namespace=namespace)
    with httpx.Client(base_url=there.url, params={"namespace": namespace}) as here:
        if costs == "data":
            body = {**here.get("/v1/working-memory/s").json(), "data": {"step": 4}}
            assert here.put("/v1/working-memory/s", json=body).status_code == 200
        before = here.get("/v1/sessions/s/state").json()
        monkeypatch.setattr(importer, forgets, never if forgets == "_continued" else lambda *arguments: False)
        take(target, service.url, namespace=namespace)
        assert here.get("/v1/sessions/s/state").json()[costs] != before[costs]


def test_the_command_says_what_it_did(service: Running, api: httpx.Client, cli: Cli, namespace: str) -> None:  # noqa: F811
    name = f"s-{secrets.token_hex(4)}"
    put(api, name, FULL)
    there = cli.elsewhere(namespace)
    answers = there.json("import-ams", service.url, "--dry-run")
    assert (answers["unchanged"], answers["refused"]) == (1, [])  # for both stand on one database
    assert "0 sessions" in there("import-ams", service.url).out
    assert there.try_("import-ams", "ftp://x").code == 2


# -- servers that misbehave --


class Fake(BaseHTTPRequestHandler):
    """Answers with what the test's function says of a path: a status and a body, or nothing for a while."""

    protocol_version = "HTTP/1.1"
    answer: Callable[[str], tuple[int, bytes]]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body = type(self).answer(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def fake(answer: Callable[[str], tuple[int, bytes]]) -> Iterator[str]:
    handler = type("Handler", (Fake,), {"answer": staticmethod(answer)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.handle_error = lambda *args: None  # type: ignore[method-assign]  # a reader that had enough
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


NOTHING = (200, b'{"memories": [], "total": 0, "next_offset": null}')


def sessions(*bodies: bytes) -> Callable[[str], tuple[int, bytes]]:
    def answer(path: str) -> tuple[int, bytes]:
        if "long-term" in path:
            return NOTHING
        name = path.partition("?")[0].removeprefix("/v1/working-memory/")
        if not name:
            return 200, json.dumps({"sessions": [f"s{n}" for n in range(len(bodies))], "total": len(bodies)}).encode()
        return 200, bodies[int(name[1:])]

    return answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda path: (500, b"oops"), Unavailable),
        (lambda path: (307, b""), Unavailable),
        (lambda path: (200, b"<html>"), Unavailable),
        (lambda path: (200, b"[]"), Unavailable),
        (lambda path: (200, b'{"memories": 5}'), Unavailable),
        (lambda path: (200, b'{"memories": [{"id": "a", "text": "b"}], "next_offset": 0}'), Unavailable),
        (lambda path: (401, b"{}"), NotAllowed),
        (lambda path: (200, b"[" * 3_000_000 + b"]"), Unavailable),
        (lambda path: (200, b'{"memories":"' + b"x" * 13_000_000 + b'"}'), Unavailable),
        (lambda path: NOTHING if "long" in path else (200, b'{"sessions": [1]}'), Unavailable),
        (lambda path: NOTHING if "long" in path else (503, b""), Unavailable),
    ],
    ids=["500", "redirect", "html", "list", "wrong", "endless", "401", "deep", "huge", "ids", "away"],
)
def test_a_server_that_answers_nonsense_is_one_clear_error(
    answer: Callable[[str], tuple[int, bytes]], error: type[LedgerError]
) -> None:
    with fake(answer) as url, pytest.raises(error, match="127"):
        take(InMemoryStore(), url)


def test_a_server_that_hangs_or_is_not_there_is_one_clear_error() -> None:
    released = threading.Event()

    def hang(path: str) -> tuple[int, bytes]:
        released.wait(20)
        return 200, b"{}"

    with fake(hang) as url:
        try:
            with pytest.raises(Unavailable, match="TimeoutError"):
                take(InMemoryStore(), url, timeout_s=0.3)
        finally:
            released.set()
    with pytest.raises(Unavailable, match="cannot be read"):
        take(InMemoryStore(), "http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://", "http://u:p@x", "x", "http://h:0", "http://h/?a", "http://h/ b"]
)
def test_only_http_addresses_are_read(url: str) -> None:
    with pytest.raises(InvalidInput, match="http or https"):
        take(InMemoryStore(), url)


def test_a_session_that_cannot_be_kept_is_told_of_and_nothing_of_it_is_stored() -> None:
    fine = json.dumps({**FULL, "session_id": "s0"}).encode()
    blank = json.dumps({**FULL, "messages": [*FULL["messages"], {"role": "user", "content": " "}]}).encode()
    late = json.dumps({"messages": [{"role": "user", "content": "x", "created_at": "2999-01-01T00:00:00Z"}]}).encode()
    comma = json.dumps({"memories": [{"id": "a", "text": "b", "topics": ["a,b"]}]}).encode()
    shape = json.dumps({"messages": {"a": 1}}).encode()
    target = InMemoryStore()
    with fake(sessions(fine, blank, late, comma, shape)) as url:
        done = take(target, url)
    assert (done.sessions, done.messages) == (1, 2)
    assert [(each.id, each.code) for each in done.refused] == [
        ("s1", "blank_message"),
        ("s2", "future_timestamp"),
        ("s3", "bad_session"),
        ("s4", "bad_session"),
    ]
    with running(target, worker=False) as there:
        assert httpx.get(f"{there.url}/v1/working-memory/").json()["sessions"] == ["s0"]


def test_a_bad_record_does_not_keep_the_others_out() -> None:
    page = {
        "memories": [
            {"id": "a", "text": "one"},
            {"id": "", "text": "two"},
            {"id": "c", "text": " "},
            {"id": "d", "text": "four"},
        ]
    }

    def answer(path: str) -> tuple[int, bytes]:
        return (200, json.dumps(page).encode()) if "long-term" in path else (200, b'{"sessions": [], "total": 0}')

    with fake(answer) as url:
        done = take(InMemoryStore(), url)
    assert (done.records, [each.id for each in done.refused]) == (2, ["", "c"])


@pytest.mark.parametrize("name", ["namespace", "user_id", "session_id"])
def test_names_that_are_none_are_refused_by_record_and_session(name: str) -> None:
    page = {"memories": [{"id": "a", "text": "one", name: {"x": []}}, {"id": "b", "text": "two"}]}
    listed = sessions(json.dumps({**FULL, name: ["x"]}).encode())

    def answer(path: str) -> tuple[int, bytes]:
        return (200, json.dumps(page).encode()) if "long-term" in path else listed(path)

    with fake(answer) as url:
        done = take(InMemoryStore(), url)
    refused = ["a"] if name == "session_id" else ["a", "s0"]  # that of the path counts
    assert (done.records, [each.id for each in done.refused]) == (1, refused)


def test_a_session_that_is_found_only_by_its_names_is_found_through_its_records() -> None:
    def answer(path: str) -> tuple[int, bytes]:
        if "long-term" in path:
            return 200, b'{"memories": [{"id": "a", "text": "b", "session_id": "s", "user_id": "mia"}]}'
        if path.startswith("/v1/working-memory/?"):
            return 200, b'{"sessions": ["s", "t"]}'
        if path.endswith("/s?user_id=mia"):
            return 200, json.dumps({**FULL, "user_id": "mia"}).encode()
        return 404, b'{"detail": "not found"}'

    with fake(answer) as url:
        done = take(InMemoryStore(), url)
    assert (done.sessions, [(each.id, each.code) for each in done.refused]) == (1, [("t", "not_found")])
