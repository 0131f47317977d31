"""Importing from servers that misbehave, and from sessions and records that cannot be stored."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from ledger.errors import InvalidInput, LedgerError, NotAllowed, Unavailable
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.ams_imports import FULL, import_from
from tests.support.patience import within

pytestmark = pytest.mark.postgres


class Fake(BaseHTTPRequestHandler):
    """Answers a path with the status and body that the function of the test returns."""

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


class QuietServer(ThreadingHTTPServer):
    """Prints nothing when a reader closes early."""

    def handle_error(self, *args: object) -> None:
        pass


@contextmanager
def fake(answer: Callable[[str], tuple[int, bytes]]) -> Iterator[str]:
    handler = type("Handler", (Fake,), {"answer": staticmethod(answer)})
    with QuietServer(("127.0.0.1", 0), handler) as server:
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
def test_nonsense_answers_raise_one_clear_error(
    answer: Callable[[str], tuple[int, bytes]], error: type[LedgerError]
) -> None:
    with fake(answer) as url, pytest.raises(error, match="127"):
        import_from(InMemoryStore(), url)


def test_a_server_that_hangs_or_is_away_raises_one_clear_error() -> None:
    released = threading.Event()

    def hang(path: str) -> tuple[int, bytes]:
        released.wait(20)
        return 200, b"{}"

    with fake(hang) as url:
        try:
            with pytest.raises(Unavailable, match="TimeoutError"):
                import_from(InMemoryStore(), url, timeout_s=0.3)
        finally:
            released.set()
    with pytest.raises(Unavailable, match="cannot be read"):
        import_from(InMemoryStore(), "http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://", "http://u:p@x", "x", "http://h:0", "http://h/?a", "http://h/ b"]
)
def test_only_http_addresses_are_read(url: str) -> None:
    with pytest.raises(InvalidInput, match="http or https"):
        import_from(InMemoryStore(), url)


def test_a_session_that_cannot_be_stored_is_listed_and_nothing_of_it_is_stored() -> None:
    fine = json.dumps({**FULL, "session_id": "s0"}).encode()
    blank = json.dumps({**FULL, "messages": [*FULL["messages"], {"role": "user", "content": " "}]}).encode()
    late = json.dumps({"messages": [{"role": "user", "content": "x", "created_at": "2999-01-01T00:00:00Z"}]}).encode()
    comma = json.dumps({"memories": [{"id": "a", "text": "b", "topics": ["a,b"]}]}).encode()
    shape = json.dumps({"messages": {"a": 1}}).encode()
    target = InMemoryStore()
    with fake(sessions(fine, blank, late, comma, shape)) as url:
        done = import_from(target, url)
    assert (done.sessions, done.messages) == (1, 2)
    assert [(refusal.id, refusal.code) for refusal in done.refused] == [
        ("s1", "blank_message"),
        ("s2", "future_timestamp"),
        ("s3", "bad_session"),
        ("s4", "bad_session"),
    ]
    with running(target, worker=False) as there:
        assert httpx.get(f"{there.url}/v1/working-memory/").json()["sessions"] == ["s0"]


def test_a_bad_record_does_not_stop_the_others() -> None:
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
        done = import_from(InMemoryStore(), url)
    assert (done.records, [refusal.id for refusal in done.refused]) == (2, ["", "c"])


@pytest.mark.parametrize("name", ["namespace", "user_id", "session_id"])
def test_records_and_sessions_with_bad_names_are_refused(name: str) -> None:
    page = {"memories": [{"id": "a", "text": "one", name: {"x": []}}, {"id": "b", "text": "two"}]}
    listed = sessions(json.dumps({**FULL, name: ["x"]}).encode())

    def answer(path: str) -> tuple[int, bytes]:
        return (200, json.dumps(page).encode()) if "long-term" in path else listed(path)

    with fake(answer) as url:
        done = import_from(InMemoryStore(), url)
    refused = ["a"] if name == "session_id" else ["a", "s0"]  # the id in the path counts
    assert (done.records, [refusal.id for refusal in done.refused]) == (1, refused)


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
        done = import_from(InMemoryStore(), url)
    assert (done.sessions, [(refusal.id, refusal.code) for refusal in done.refused]) == (1, [("t", "not_found")])


def test_what_the_caller_asked_for_decides_not_what_the_server_answers() -> None:
    def answer(path: str) -> tuple[int, bytes]:
        if "long-term" in path:
            theirs = {"id": "a", "text": "planted", "namespace": "theirs", "user_id": "mia"}
            return 200, json.dumps({"memories": [theirs, {"id": "b", "text": "asked for"}]}).encode()
        if path.startswith("/v1/working-memory/?"):
            return 200, b'{"sessions": ["planted", "other user", "fine"]}'
        names = {"planted": {"namespace": "theirs"}, "other%20user": {"user_id": "mia"}, "fine": {}}
        return 200, json.dumps({**FULL, **names[path.split("?", maxsplit=1)[0].rsplit("/", 1)[1]]}).encode()

    target = InMemoryStore()
    with fake(answer) as url:
        done = import_from(target, url, namespace="ours", user_id="ann")
    assert (done.sessions, done.records) == (1, 1)
    refused = {(refusal.id, refusal.code) for refusal in done.refused}
    assert refused == {("planted", "not_asked_for"), ("other user", "not_asked_for"), ("a", "not_asked_for")}
    with running(target) as service:
        listed = httpx.get(f"{service.url}/v1/sessions", params={"namespace": "ours"}).json()["sessions"]
        assert [(row["session_id"], row["user_id"]) for row in listed] == [("fine", "ann")]
        assert httpx.get(f"{service.url}/v1/sessions", params={"namespace": "theirs"}).json()["sessions"] == []


def endless(key: str) -> Callable[[str], tuple[int, bytes]]:
    """Return a server that never stops to list, with other items on each page."""
    numbers = iter(range(10**9))

    def answer(path: str) -> tuple[int, bytes]:
        if key == "memories" and "long-term" in path:
            memories = [{"id": f"m{next(numbers)}", "text": "x" * 500, "namespace": "a\u0007"} for _ in range(100)]
            return 200, json.dumps({"memories": memories, "next_offset": next(numbers)}).encode()
        if "long-term" in path:
            return NOTHING
        return 200, json.dumps({"sessions": [f"{next(numbers)}" + "x" * 500 for _ in range(100)]}).encode()

    return answer


@pytest.mark.parametrize("key", ["memories", "sessions"])
def test_a_server_that_never_stops_to_list_is_left_at_the_deadline(key: str) -> None:
    began = time.monotonic()
    with fake(endless(key)) as url, pytest.raises(Unavailable, match="within 1 seconds"):
        import_from(InMemoryStore(), url, limits={"deadline_s": 1})
    assert time.monotonic() - began < within(8)


@pytest.mark.parametrize("key", ["memories", "sessions"])
def test_a_server_that_never_stops_to_list_is_left_at_the_limit(key: str) -> None:
    with fake(endless(key)) as url, pytest.raises(Unavailable, match="more than 1,000,000 bytes"):
        import_from(InMemoryStore(), url, limits={"most_bytes": 1_000_000})


def test_a_server_that_lists_the_same_page_again_is_left_at_once() -> None:
    page = json.dumps({"sessions": [f"s{number}" for number in range(100)]}).encode()
    with (
        fake(lambda path: NOTHING if "long-term" in path else (200, page)) as url,
        pytest.raises(Unavailable, match="the same sessions again"),
    ):
        import_from(InMemoryStore(), url)


def test_a_server_that_drips_is_left_at_the_deadline() -> None:
    class Dripping(Fake):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            with suppress(OSError):
                for _ in range(200):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.05)

        def do_POST(self) -> None:
            self.do_GET()

    with QuietServer(("127.0.0.1", 0), Dripping) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        began = time.monotonic()
        try:
            with pytest.raises(Unavailable, match="within 1 seconds"):
                import_from(InMemoryStore(), f"http://127.0.0.1:{server.server_address[1]}", limits={"deadline_s": 1})
            assert time.monotonic() - began < within(8)
        finally:
            server.shutdown()
            thread.join()
