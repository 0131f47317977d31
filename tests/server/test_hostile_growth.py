"""The whole list of hostile requests, against both APIs of one process: it stays small, and nothing is written.

Source: trust P-11, §9.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import psutil
import psycopg
import pytest

from tests.server.test_native_hostile import HOSTILE
from tests.support.databases import Server
from tests.support.hostile_bodies import ONE_MIB, VALUES, Bad
from tests.support.service_process import ServiceProcess

pytestmark = pytest.mark.postgres

MOST_GROWN: Final = 64 * ONE_MIB
SAID: Final = [{"role": "user", "content": "hello", "id": f"m-{number}"} for number in (1, 2)]

#: Where a value is put: the method, the path, and the body around it.
DOORS: Final = [
    ("POST", "/v1/sessions/s/entries", b'{"entries":[{"role":"user","content":"x","data":%b}]}'),
    ("PATCH", "/v1/sessions/s/data", b'{"a":%b}'),
    ("PUT", "/v1/sessions/s/config", b'{"config":%b}'),
    ("PUT", "/v1/working-memory/s", b'{"messages":[{"role":"user","content":"x"}],"data":{"a":%b}}'),
    ("POST", "/v1/long-term-memory/", b'{"memories":[{"id":"r","text":"x","metadata":{"a":%b}}]}'),
    ("POST", "/v1/long-term-memory/search", b'{"text":%b}'),
    ("POST", "/v1/memory/prompt", b'{"query":%b}'),
]
#: Requests of the working-memory API whose JSON is sound and whose sense is not.
COMPAT: Final[list[tuple[str, str, object]]] = [
    ("PUT", "/v1/working-memory/s", {"messages": [{"role": "", "content": "x"}]}),
    ("PUT", "/v1/working-memory/s", {"messages": [{"role": "user", "content": " "}]}),
    ("PUT", "/v1/working-memory/s", {"messages": [{"role": "user", "content": "x", "id": "a" * 60_000}]}),
    ("PUT", "/v1/working-memory/s", {"messages": [{"role": "user", "content": "x" * (ONE_MIB + 1)}]}),
    ("PUT", "/v1/working-memory/s", {"messages": [{"role": "user", "content": "x"}] * 10_001}),
    ("PUT", "/v1/working-memory/s", {"messages": [{"role": "user", "content": "x", "created_at": "2999-01-01"}]}),
    ("PUT", "/v1/working-memory/s", {"memories": [{"text": ""}], "messages": SAID}),
    ("PUT", "/v1/working-memory/s", {"memories": [{"id": "f", "text": "x" * (ONE_MIB + 1)}]}),
    ("PUT", "/v1/working-memory/s", {"memories": [{"id": "f", "text": "x", "metadata": {"a": "x" * 20_000}}]}),
    ("PUT", "/v1/working-memory/s", {"data": {"a": "x" * (8 * ONE_MIB - 40)}}),
    ("PUT", "/v1/working-memory/s", {"context": "x" * (8 * ONE_MIB - 40)}),
    ("PATCH", "/v1/sessions/s/data", {"a": "x" * (8 * ONE_MIB - 40)}),
    ("PUT", "/v1/working-memory/s", {"ttl_seconds": 0}),
    ("PUT", "/v1/working-memory/s%00", {}),
    ("PUT", "/v1/working-memory/%ff", {}),
    ("PUT", "/v1/working-memory/" + "a" * 60_000, {}),
    ("PUT", "/v1/working-memory/" + "a" * 600, {}),
    ("PUT", "/v1/working-memory/a%2Fb", {}),
    ("PUT", "/v1/working-memory/s?ttl_seconds=-1", {}),
    ("PUT", "/v1/working-memory/s?model_name=nothing", {}),
    ("GET", "/v1/working-memory/?limit=-1", None),
    ("GET", "/v1/working-memory/?limit=100000000000000000000", None),
    ("GET", "/v1/working-memory/?offset=1e3", None),
    ("GET", "/v1/working-memory/s?recent_messages_limit=1e3", None),
    ("GET", "/v1/working-memory/'%20OR%201=1--", None),
    ("POST", "/v1/long-term-memory/search", {"text": "x", "limit": 0}),
    ("POST", "/v1/long-term-memory/search", {"text": "x", "created_at": {"gt": "0000-00-00"}}),
    ("TRACE", "/v1/working-memory/s", None),
]


class Log:
    """The database behind the service: how far every session is, and how many rows there are."""

    def __init__(self, server: Server, database: str) -> None:
        self._url = server.database(database)

    def heads(self) -> list[tuple[object, ...]]:
        with psycopg.connect(self._url, autocommit=True) as mighty:
            return mighty.execute(
                "SELECT session_id, version, head_hash FROM ledger.streams UNION ALL"
                " SELECT 'events', count(*), NULL FROM ledger.events UNION ALL"
                " SELECT 'bytes', sum(octet_length(structure) + coalesce(octet_length(content), 0)), NULL"
                " FROM ledger.events UNION ALL"
                " SELECT 'records', count(*), NULL FROM ledger.records ORDER BY 1"
            ).fetchall()


@pytest.fixture
def process(tmp_path: Path, server: Server, fresh_database: str) -> Iterator[ServiceProcess]:
    """The service as it is run, in a process of its own: what the test holds is not counted."""
    with server.login("ledger_app") as login:
        process = ServiceProcess(tmp_path, server.url_of(login, fresh_database), MEMORY_LEDGER_WORKER="false")
        process.wait_until_it_serves()
        yield process
        process.process.terminate()
        process.process.wait(30)


def send(client: httpx.Client, door: tuple[str, str, bytes], bad: Bad) -> httpx.Response:
    method, path, around = door
    headers = {"content-type": "application/json"} | bad.headers
    return client.request(method, path, content=around % bad.value, headers=headers)


def ask_all(client: httpx.Client) -> dict[str, int]:
    """Send everything; return the statuses by what was sent."""
    came = {f"{bad.rule} {door[0]} {door[1]}": send(client, door, bad).status_code for door in DOORS for bad in VALUES}
    for item in HOSTILE:
        whole = {"content": item.body} if isinstance(item.body, bytes) else {"json": item.body}
        headers = {"content-type": "application/json"} if isinstance(item.body, bytes) else {}
        came[f"{item.rule} native {item.code}"] = client.request(
            item.method,
            f"/v1/sessions/s{item.path}",
            params=item.params,
            headers=headers | {name.lower(): value for name, value in item.headers.items()},
            **({} if item.body is None else whole),
        ).status_code
    for number, (method, path, body) in enumerate(COMPAT):
        sent = {} if body is None else {"json": body}
        came[f"{number} {method} {path[:60]}"] = client.request(method, path, **sent).status_code
    return came


@pytest.mark.full
def test_hostile_requests_leave_the_process_small_and_the_log_as_it_was(
    process: ServiceProcess, server: Server, fresh_database: str
) -> None:
    log, running = Log(server, fresh_database), psutil.Process(process.process.pid)
    with httpx.Client(base_url=process.url, timeout=60) as client:
        for _ in range(3):  # warm: each kind of request was served before
            assert client.put("/v1/working-memory/s", json={"messages": SAID}).status_code == 200
            assert client.post("/v1/long-term-memory/search", json={"text": "x"}).status_code == 200
            assert client.get("/v1/sessions/s/state").status_code == 200
        before, small = log.heads(), running.memory_info().rss
        came = ask_all(client)
        after, large = log.heads(), running.memory_info().rss
        assert client.get("/v1/sessions/s/stats").status_code == 200
        # the negative control: what is written shows
        assert client.post("/v1/sessions/s/entries", json={"entries": [{"role": "user", "content": "x"}]}).is_success
        assert log.heads() != after
    print(f"{len(came)} hostile requests: {(large - small) / ONE_MIB:.1f} MiB grown")
    assert {name: status for name, status in came.items() if status >= 500} == {}
    accepted = {name: status for name, status in came.items() if status < 400}
    assert after == before, f"something was written; accepted: {accepted}"
    assert large - small < MOST_GROWN


def test_a_process_that_holds_what_it_receives_is_noticed() -> None:
    """Negative control of the measure: a megabyte kept for each request shows long before the list is through."""
    running = psutil.Process()
    small = running.memory_info().rss
    with mmap.mmap(-1, len(HOSTILE) * ONE_MIB) as stored:  # new to the process, whatever it has let go before
        stored.write(b"x" * len(stored))
        assert running.memory_info().rss - small > len(stored) // 2
