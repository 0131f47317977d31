"""A service and a worker, each in its own process, whose database is frozen. Source: trust P-21."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from tests.support.command_process import assert_unavailable, environment, run, started
from tests.support.frozen import frozen
from tests.support.killable_server import KillableServer
from tests.support.patience import within
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.processes, pytest.mark.xdist_group("killed servers")]

TIMEOUT_S = 2.0
WRITERS = 4
S = "/v1/sessions/s"
WHAT_IF = {"config": {"window": {"type": "max_tokens", "memory_max_tokens": 1000}}}
CALLS: dict[str, tuple[str, str, Any]] = {
    "add": ("POST", f"{S}/entries", {"entries": [{"role": "user", "content": "hello"}]}),
    "begin": ("POST", "/v1/sessions/new/entries", {"entries": [{"role": "user", "content": "hello"}]}),
    "state": ("GET", f"{S}/state", None),
    "context": ("GET", f"{S}/context", None),
    "transcript": ("GET", f"{S}/transcript", None),
    "timeline": ("GET", f"{S}/timeline", None),
    "events": ("GET", f"{S}/events", None),
    "stats": ("GET", f"{S}/stats", None),
    "list": ("GET", "/v1/sessions", None),
    "search": ("POST", "/v1/search", {"query": "hello"}),
    "what-if": ("POST", f"{S}/what-if", WHAT_IF),
    "verify": ("POST", f"{S}/verify", {}),
    "verify with progress": ("GET", f"{S}/verify-stream", None),
    "export": ("GET", f"{S}/export", None),
    "stream": ("GET", f"{S}/events/stream", None),
    "fork": ("POST", f"{S}/fork", {"session_id": "forked"}),
    "compact": ("POST", f"{S}/compact", {}),
    "clear": ("POST", f"{S}/clear", {}),
    "config": ("PUT", f"{S}/config", {"config": {"profile": "none"}}),
    "working memory": ("GET", "/v1/working-memory/s", None),
    "list of working memory": ("GET", "/v1/working-memory/", None),
    "memories": ("POST", "/v1/long-term-memory/search", {"text": "hello"}),
    "ready": ("GET", "/readyz", None),
}


@contextmanager
def writers(service: ServiceProcess, pool: ThreadPoolExecutor) -> Iterator[list["Future[tuple[int, list[float]]]"]]:
    """Yield writers at work, which stop at the end."""
    stopped = Event()
    try:
        yield [pool.submit(writer, service, number, stopped) for number in range(WRITERS)]
    finally:
        stopped.set()


@contextmanager
def serving(folder: Path, killable: KillableServer, database: str) -> Iterator[ServiceProcess]:
    """Yield a service, and let a worker of its own process work beside it; neither is restarted."""
    with killable.server.login("ledger_app") as login:
        url = killable.server.url_of(login, database)
        limit = {"MEMORY_LEDGER_DATABASE_TIMEOUT_S": str(TIMEOUT_S)}
        service = ServiceProcess(folder, url, MEMORY_LEDGER_WORKER="false", **limit)
        worker = started("worker", MEMORY_LEDGER_DATABASE_URL=url, **limit)
        try:
            service.wait_until_it_serves()
            yield service
            assert (service.process.poll(), worker.poll()) == (None, None)
        finally:
            for process in (service.process, worker):
                process.terminate()
            for process in (service.process, worker):
                process.wait(20)
    assert "Traceback" not in service.errors.read_text()


def ask(service: ServiceProcess, name: str) -> tuple[int, float, str]:
    """Return the status of a call, after how many seconds it was complete, and the code of its error."""
    method, path, body = CALLS[name]
    began = time.monotonic()
    with httpx.stream(method, f"{service.url}{path}", json=body, timeout=60) as answer:
        assert answer.status_code != 503 or "retry-after" in answer.headers, name
        text = "" if answer.status_code == 200 and name == "stream" else answer.read().decode()
    return answer.status_code, time.monotonic() - began, text


def promoted(service: ServiceProcess, name: str) -> None:
    """Write a memory that the worker has to promote, and return when it did."""
    body = {"messages": [], "memories": [{"id": name, "text": f"{name} likes tea", "memory_type": "semantic"}]}
    wrote = httpx.put(f"{service.url}/v1/working-memory/{name}", json=body, timeout=60)
    assert wrote.status_code == 200, wrote.text
    until = time.monotonic() + 30
    while httpx.get(f"{service.url}/v1/long-term-memory/{name}", timeout=60).status_code != 200:
        assert time.monotonic() < until, "the worker does not promote it"
        time.sleep(0.1)


def writer(service: ServiceProcess, number: int, stopped: Event) -> tuple[int, list[float]]:
    """Add one entry after the other, each until it is acknowledged; return how many, and how long each call took."""
    path, count, seconds = f"{service.url}/v1/sessions/w{number}/entries", 0, list[float]()
    while not stopped.is_set():
        body = {"entries": [{"role": "user", "content": f"{count}"}]}
        status = 0
        while status != 201:
            began = time.monotonic()
            answer = httpx.post(path, json=body, headers={"Idempotency-Key": f"{number}-{count}"}, timeout=60)
            seconds.append(time.monotonic() - began)
            status = answer.status_code
            assert status in {201, 503}, answer.text
        count += 1
    return count, seconds


def test_a_service_and_a_worker_end_in_time_and_go_on(tmp_path: Path, killable: KillableServer, database: str) -> None:
    with serving(tmp_path, killable, database) as service, ThreadPoolExecutor(len(CALLS) + WRITERS) as pool:
        assert {name: ask(service, name)[0] for name in ("add", "list", "search", "what-if")}["add"] == 201
        promoted(service, "before")
        with writers(service, pool) as writing:
            with frozen(killable._postmaster()):
                asked = {name: pool.submit(ask, service, name) for name in CALLS if name != "what-if"}
                health = list[float]()
                while not all(each.done() for each in asked.values()):
                    began = time.monotonic()
                    assert httpx.get(f"{service.url}/v1/health", timeout=60).status_code == 200
                    health.append(time.monotonic() - began)
                    time.sleep(0.05)
                ends = {name: each.result() for name, each in asked.items()}
                ends["what-if"] = ask(service, "what-if")  # no caller has two at once with `verify with progress`
            promoted(service, "after")
        slowest = max(seconds for _, seconds, _ in ends.values())
        print(f"{len(ends)} calls took up to {slowest:.1f} s, health {max(health):.2f} s")
        assert {status for status, _, _ in ends.values()} == {503}, ends
        assert '"database":"database_unavailable"' in ends["ready"][2]
        assert all("answer" in text or "busy" in text for name, (_, _, text) in ends.items() if name != "ready"), ends
        assert slowest < within(TIMEOUT_S + 2), ends
        for number, (count, seconds) in enumerate(each.result() for each in writing):
            print(f"writer {number}: {count} entries, up to {max(seconds):.1f} s for a call")
            assert max(seconds) < within(TIMEOUT_S + 2)
            stored = httpx.get(f"{service.url}/v1/sessions/w{number}/transcript", timeout=60).json()
            assert [entry["content"] for entry in stored["entries"]] == [str(at) for at in range(count)]
        again = {name: ask(service, name)[0] for name in CALLS}
        assert again.pop("fork") in {201, 409}, "it may have been made when the server went on"
        assert again.pop("compact") == 409, "there is too little"
        assert set(again.values()) <= {200, 201}, again


COMMANDS = (
    ("add", "s", "x"),
    ("verify", "s"),
    ("export", "s"),
    ("worker", "--once"),
    ("serve", "--port", "0"),
    ("mcp",),
)


def test_commands_say_that_the_server_does_not_answer(killable: KillableServer, database: str) -> None:
    """They said that all connections are busy."""
    with killable.server.login("ledger_app") as login, ThreadPoolExecutor(len(COMMANDS) + 1) as pool:
        url = killable.server.url_of(login, database)
        settings = environment(MEMORY_LEDGER_DATABASE_URL=url, MEMORY_LEDGER_DATABASE_TIMEOUT_S=str(TIMEOUT_S))
        with frozen(killable._postmaster()):
            doctor = pool.submit(run, "doctor", env=settings)
            for done in [pool.submit(run, *words, env=settings) for words in COMMANDS]:
                assert_unavailable(done.result(), "does not answer")
            assert "connection: the database does not answer" in doctor.result().stdout
            assert doctor.result().returncode == 4
