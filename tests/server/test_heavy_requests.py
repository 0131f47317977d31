"""Heavy requests are answered apart from the others. Source: trust S-17."""

import asyncio
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.types import Scope, Send

from ledger.server import heavy_requests
from ledger.server.heavy_requests import LARGE_B, MOST_WAITING, HeavyRequests
from ledger.server.http.guard import RequestGuard
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support.databases import Server
from tests.support.http_client import JSON
from tests.support.patience import within
from tests.support.service_process import ServiceProcess


class InlineHelper:
    """Answers in this process, when *open* is set, and remembers what it was given."""

    def __init__(self) -> None:
        self.app: FastAPI
        self.open = threading.Event()
        self.paths: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    async def answer(self, scope: Scope, body: bytes, send: Send) -> dict[str, str]:
        unread = [body]

        async def receive() -> dict[str, object]:
            if not unread:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": unread.pop(), "more_body": False}

        self.paths.append(scope["path"])
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        while not self.open.is_set():
            await asyncio.sleep(0.01)
        await self.app(scope, receive, send)  # type: ignore[arg-type]
        self.at_once -= 1
        return {"route": scope["state"]["route"]}


@contextmanager
def helped(**settings: object) -> Iterator[tuple[Running, InlineHelper]]:
    inline, found = InlineHelper(), list[Running]()

    def change(config: uvicorn.Config) -> None:
        guard = config.app
        assert isinstance(guard, RequestGuard)
        assert isinstance(guard._app, FastAPI)
        inline.app = guard._app
        guard._app = HeavyRequests(guard._app, guard._app.state.service, inline)  # type: ignore[arg-type]

    with running(InMemoryStore(), change=change, **settings) as item:
        found.append(item)
        inline.open.set()
        yield item, inline


def messages(number: int, size: int = 100) -> dict[str, Any]:
    each = {"role": "user", "content": "w" * size, "created_at": "2026-01-01T00:00:00Z"}
    return {"messages": [{**each, "id": f"m{at}"} for at in range(number)]}


def test_requests_that_need_much_of_the_processor_go_to_the_helper() -> None:
    client = httpx.Client(timeout=30, headers={"content-type": "application/json"})
    with helped() as (item, inline), client:
        client.base_url = httpx.URL(item.url)
        small, large = messages(2), messages(2 * LARGE_B // 200)
        assert client.put("/v1/working-memory/s", json=small).status_code == 200
        assert client.put("/v1/working-memory/s", content=iter([json.dumps(small).encode()])).status_code == 200
        assert inline.paths == []
        assert client.put("/v1/working-memory/s", json=large).status_code == 200
        assert client.put("/v1/working-memory/s", content=iter([json.dumps(large).encode()])).status_code == 200
        assert inline.paths == ["/v1/working-memory/s"] * 2
        assert client.get("/v1/sessions/s/stats").status_code == 200
        path = "/v1/sessions/s"
        assert client.post(f"{path}/diff", json={"before": {"version": 1}, "after": {}}).status_code == 200
        assert client.post(f"{path}/verify", headers=JSON).status_code == 200
        exported = client.get(f"{path}/export")
        assert client.post("/v1/sessions/t/import", content=exported.content).status_code == 415
        assert client.post(f"{path}/restore", json={"version": 2}).status_code == 200
        assert client.post("/v1/sessions/none/verify", headers=JSON).status_code == 404
        assert client.post("/v1/config/check", json={"config": {}}).json() == {"findings": []}
        assert client.post(f"{path}/config/check", json={"config": {}}).status_code == 200
        answer = client.post(f"{path}/what-if", json={"config": {"profile": "none"}})
        assert (answer.status_code, answer.json()["strategy"]) == (200, "full")
        assert client.post(f"{path}/trials", json={"configs": {"all": {}}}).status_code == 200
        assert "event: verdict" in client.get(f"{path}/verify-stream").text
        assert "event: verdict" in client.get("/v1/verify-stream").text
        assert inline.paths[2:] == [
            f"{path}/diff", f"{path}/verify", f"{path}/export", "/v1/sessions/t/import", f"{path}/restore",
            "/v1/sessions/none/verify", "/v1/config/check", f"{path}/config/check",
            f"{path}/what-if", f"{path}/trials", f"{path}/verify-stream", "/v1/verify-stream",
        ]  # fmt: skip


def test_a_long_search_goes_to_the_helper_and_a_short_one_does_not__S_17() -> None:
    """24 searches of 900 words kept health waiting."""
    words = " ".join(f"word{number}" for number in range(900))
    with helped() as (service, inline):
        for query, paths in (("table for two", []), (words, ["/v1/search"])):
            answer = httpx.post(f"{service.url}/v1/search", json={"query": query})
            assert answer.status_code == 200, answer.text
            assert inline.paths == paths


def long_search(client: httpx.Client, number: int) -> int:
    query = " ".join(f"message {number + at}" for at in range(450))
    return client.post("/v1/search", json={"query": query}).status_code


def health_while(client: httpx.Client, goes_on: Callable[[], bool]) -> list[float]:
    """Ask for the health again and again; return how many seconds each answer took, the longest last."""
    seconds: list[float] = []
    while goes_on():
        began = time.perf_counter()
        assert client.get("/v1/health").status_code == 200
        seconds.append(time.perf_counter() - began)
        time.sleep(0.01)
    return sorted(seconds)


@pytest.mark.slow
def test_health_answers_at_once_while_one_caller_searches_for_many_words__S_17(
    tmp_path: Path, server: Server, fresh_database: str
) -> None:
    """24 searches of 900 words among 10,000 entries; a few of them may be told to come later.

    The searches have clients of their own, made before: one takes the test as long as what is measured.
    """
    with (
        serving_a_long_session(tmp_path, server, fresh_database, 10_000) as client,
        httpx.Client(base_url=client.base_url, timeout=120) as searching,
        ThreadPoolExecutor(24) as pool,
    ):
        assert long_search(searching, 0) == 200  # it starts the helper
        until = time.perf_counter() + 3
        quiet = health_while(client, lambda: time.perf_counter() < until)
        asked = [pool.submit(long_search, searching, number) for number in range(24)]
        seconds = health_while(client, lambda: not all(each.done() for each in asked))
        assert {each.result() for each in asked} <= {200, 429}
        typical, late, longest = (seconds[int(len(seconds) * share)] * 1000 for share in (0.5, 0.95, 0.999))
        print(f"{len(seconds)} answers: median {typical:.0f} ms, 95 % {late:.0f} ms, longest {longest:.0f} ms")
        print(f"without searches: median {statistics.median(quiet) * 1000:.0f} ms, longest {quiet[-1] * 1000:.0f} ms")
        assert typical < 50
        assert late < within(50)
        assert longest < max(within(50), 2 * quiet[-1] * 1000)


def test_a_caller_has_one_heavy_request_at_a_time_and_few_that_wait() -> None:
    with helped() as (item, inline):
        inline.open.clear()

        def verify(_: int) -> int:
            return httpx.post(f"{item.url}/v1/sessions/s/verify", timeout=30, headers=JSON).status_code

        with ThreadPoolExecutor(MOST_WAITING + 8) as pool:
            asked = [pool.submit(verify, number) for number in range(MOST_WAITING + 4)]
            while sum(each.done() for each in asked) < 3:
                time.sleep(0.01)
            inline.open.set()
            statuses = [each.result() for each in asked]
        assert inline.most_at_once == 1
        assert statuses.count(404) == MOST_WAITING + 1
        assert statuses.count(429) == 3


def test_a_caller_tries_one_thing_at_a_time_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused at once, the first at its deadline, and nothing is left of a client that has gone."""
    monkeypatch.setattr(heavy_requests, "TRY_S", 0.5)
    monkeypatch.setattr(heavy_requests, "_ENDING_S", 0.2)
    with helped() as (item, inline), ThreadPoolExecutor(1) as pool:

        def ask(name: str, timeout: float = 30) -> tuple[int, str]:
            answer = httpx.post(f"{item.url}/v1/sessions/s/{name}", timeout=timeout, json={"configs": {"a": {}}})
            return answer.status_code, answer.json()["code"]

        inline.open.clear()
        first = pool.submit(ask, "trials")
        while not inline.at_once:
            time.sleep(0.01)
        assert ask("what-if") == (429, "busy")
        assert first.result() == (503, "took_too_long")
        monkeypatch.setattr(heavy_requests, "TRY_S", 60)
        with pytest.raises(httpx.ReadTimeout):
            ask("trials", 0.3)
        inline.open.set()
        assert [ask("trials") for _ in range(20)] == [(404, "session_not_found")] * 20, "one after the other"


def test_a_heavy_request_without_a_credential_does_not_reach_the_helper(server: Server, shared_database: str) -> None:
    with helped(auth_mode="oidc", oidc_issuer="a", oidc_audience="b", oidc_hmac_key="k" * 32) as (item, inline):
        assert httpx.post(f"{item.url}/v1/sessions/s/verify", headers=JSON).status_code == 401
        assert httpx.put(f"{item.url}/v1/working-memory/s", json=messages(3_000)).status_code == 401
        assert inline.paths == []


@contextmanager
def serving_a_long_session(folder: Path, server: Server, database: str, entries: int) -> Iterator[httpx.Client]:
    with server.login("ledger_app") as login:
        process = ServiceProcess(folder, server.url_of(login, database))
        try:
            process.wait_until_it_serves()
            with httpx.Client(base_url=process.url, timeout=120) as client:
                for first in range(0, entries, 500):
                    page = [{"role": "user", "content": f"message {number}"} for number in range(first, first + 500)]
                    assert client.post("/v1/sessions/long/entries", json={"entries": page}).status_code == 201
                yield client
        finally:
            process.process.terminate()
            process.process.wait(20)


def what_if(client: httpx.Client) -> httpx.Response:
    config = {"window": {"type": "max_tokens", "memory_max_tokens": 1000}}
    with httpx.Client(base_url=client.base_url, timeout=120) as own:
        return own.post("/v1/sessions/long/diff", json={"what_if": config, "on_miss": "estimate"})


@pytest.mark.slow
def test_health_answers_at_once_while_long_sessions_are_compared(
    tmp_path: Path, server: Server, fresh_database: str
) -> None:
    """Eight what-ifs of 10,000 messages; in one process the longest answer took more than a second."""
    with serving_a_long_session(tmp_path, server, fresh_database, 10_000) as client:
        assert what_if(client).status_code == 200  # it starts the helper
        seconds: list[float] = []
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(what_if, client) for _ in range(8)]
            while not all(each.done() for each in asked):
                began = time.perf_counter()
                assert client.get("/v1/health").status_code == 200
                seconds.append(time.perf_counter() - began)
                time.sleep(0.01)
        assert {each.result().status_code for each in asked} == {200}
        p99 = statistics.quantiles(seconds, n=100)[98]
        print(f"{len(seconds)} answers, p99 {p99 * 1000:.0f} ms, longest {max(seconds) * 1000:.0f} ms")
        assert p99 < 0.05
