"""The settings of the service, its load limits, its readiness and its namespaces."""

import asyncio
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import pytest

from ledger.application.auditing.stored_log import get_events
from ledger.application.handle import NamespaceHandle
from ledger.application.namespace_reads import namespace_names
from ledger.application.reading.session_reads import list_sessions
from ledger.application.services import Services
from ledger.application.writing.entry_writes import add_user_message
from ledger.errors import InvalidInput, Unavailable
from ledger.events.ids import namespace_id
from ledger.server.service_settings import check_address, load_service_settings
from ledger.settings import load_settings
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.service_process import ServiceProcess


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SUMMARIZATION_THRESHOLD", "0"),
        ("SUMMARIZATION_THRESHOLD", "1.1"),
        ("SUMMARIZATION_THRESHOLD", "geheim"),
        ("PROGRESSIVE_SUMMARIZATION_PROMPT", "geheim {prev_summary}"),
        ("LONG_TERM_MEMORY", "geheim"),
        ("AUTH_MODE", "geheim"),
        ("MAX_FUTURE_TIMESTAMP_SECONDS", "-1"),
        ("MEMORY_LEDGER_PORT", "70000"),
        ("MEMORY_LEDGER_ALLOWED_HOSTS", "a b"),
    ],
)
def test_a_bad_setting_stops_the_start_in_one_line(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """http W-12."""
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput) as refused:
        load_service_settings()
    assert (refused.value.code, refused.value.field) == ("bad_setting", name)
    assert "geheim" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_settings_have_the_names_and_defaults_of_the_working_memory_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """http W-12; HOST and PORT of some other program are not ours."""
    for name in ("HOST", "PORT", "DOCS", "WORKER"):
        monkeypatch.setenv(name, "17")
    plain = load_service_settings()
    assert (str(plain.summarization_threshold), plain.generation_model) == ("0.7", "gpt-4o-mini")
    assert (plain.long_term_memory, plain.index_all_messages_in_long_term_memory) == (True, False)
    assert (plain.summarization_wait_seconds, plain.extraction_debounce_seconds) == (20, 30)
    assert (plain.max_future_timestamp_seconds, plain.require_message_timestamps) == (300, False)
    assert (plain.host, plain.port, plain.auth_mode) == ("127.0.0.1", 8000, "none")
    monkeypatch.setenv("LONG_TERM_MEMORY", "false")
    monkeypatch.setenv("MEMORY_LEDGER_ALLOWED_HOSTS", "a.example, b.example")
    changed = load_service_settings(port=9)
    assert (changed.long_term_memory, changed.port) == (False, 9)
    assert changed.allowed_hosts == ("a.example", "b.example")


@pytest.mark.parametrize(("host", "mode", "starts"), [
    ("127.0.0.1", "none", True), ("::1", "none", True), ("localhost", "none", True),
    ("0.0.0.0", "none", False), ("::", "none", False), ("10.1.2.3", "none", False), ("0.0.0.0", "token", True),
])  # fmt: skip
def test_other_machines_are_not_served_without_authentication(host: str, mode: str, starts: bool) -> None:
    """trust S-1, http W-74."""
    settings = load_service_settings(host=host, auth_mode=mode)
    if starts:
        check_address(settings)
    else:
        with pytest.raises(InvalidInput, match="loopback"):
            check_address(settings)


def test_requests_that_name_no_namespace_use_that_of_the_service() -> None:
    body = {"messages": [{"role": "user", "content": "hello"}]}
    with running(InMemoryStore(), settings=load_settings(namespace="team")) as own:
        for path in ("/v1/sessions/s/state", "/v1/working-memory/s?namespace=team"):
            assert http_client.get(f"{own.url}{path}").status_code == 404
        assert http_client.put(f"{own.url}/v1/working-memory/s", json=body).status_code in {200, 201}
        for path in ("/v1/sessions/s/state", "/v1/working-memory/s?namespace=team", "/v1/working-memory/s"):
            assert http_client.get(f"{own.url}{path}").status_code == 200, path
        assert http_client.get(f"{own.url}/v1/sessions/s/state?namespace=default").status_code == 404
    with pytest.raises(RuntimeError), running(InMemoryStore(), settings=load_settings(namespace="a/b")):
        pass


def test_requests_over_the_limit_get_503() -> None:
    """trust S-7: the others are answered all the same."""
    with running(InMemoryStore(), max_concurrency=2) as in_flight:
        answers: list[httpx.Response] = []
        threads = [
            threading.Thread(target=lambda: answers.append(http_client.get(f"{in_flight.url}/v1/probe/slow")))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses in ([200, 200, 503, 503], [200, 200, 200, 503])  # the last may come late
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)


def test_an_answer_that_does_not_come_in_time_is_503() -> None:
    with running(InMemoryStore(), request_timeout_s=0.5) as in_flight:
        answer = http_client.get(f"{in_flight.url}/v1/probe/slow")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "retry-after" in answer.headers
        with http_client.stream("GET", f"{in_flight.url}/v1/probe/stream") as stream:  # a stream that began goes on
            lines = (line for line in stream.iter_lines() if line.startswith("id"))
            assert [next(lines) for _ in range(8)][-1] == "id: 8"


def test_a_service_that_can_serve_is_ready(service: Running) -> None:
    """trust S-12."""
    answer = http_client.get(f"{service.url}/readyz")
    assert answer.status_code == 200
    checks = {"service": "ok", "database": "ok", "migrations": "ok", "settings": "ok", "writes": "ok", "log": "ok"}
    assert answer.json() == {"status": "ready", "checks": checks}


@pytest.mark.full
def test_readiness_is_for_callers_and_the_management_port(tmp_path: Path, server: Server, shared_database: str) -> None:
    """trust S-12: not for this machine, where a proxy may bring anybody. A load balancer is told before the end."""
    with server.login("ledger_app") as login, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        environment = {
            "AUTH_MODE": "token", "MEMORY_LEDGER_METRICS": "true", "MEMORY_LEDGER_MANAGEMENT_PORT": str(port),
            "MEMORY_LEDGER_ALLOWED_HOSTS": "memory.example,127.0.0.1", "MEMORY_LEDGER_DRAIN_S": "1.5",
        }  # fmt: skip
        process = ServiceProcess(tmp_path, server.url_of(login, shared_database), **environment)
        management = f"http://127.0.0.1:{port}"
        try:
            process.wait_until_it_serves()
            for path in ("/readyz", "/metrics"):
                assert http_client.get(f"{process.url}{path}").status_code == 401
                assert http_client.get(f"{management}{path}", headers={"host": "10.1.2.3"}).status_code == 200
            assert http_client.get(f"{management}/v1/sessions").status_code == 404
            process.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            stops = http_client.get(f"{management}/readyz")
            assert (stops.status_code, stops.json()["checks"]["service"]) == (503, "stopping")
            assert http_client.get(f"{process.url}/v1/health").status_code == 200
            assert process.process.wait(10) == 0
        finally:
            process.process.kill()
            process.process.wait()
    logged = process.errors.read_text()
    assert "/readyz" not in logged


def test_a_service_that_cannot_serve_reports_why(server: Server, fresh_database: str) -> None:
    """trust S-12, http W-5."""
    with running(server.target(fresh_database)) as first, server.superuser(fresh_database) as mighty:
        mighty.execute("UPDATE ledger.alembic_version SET version_num = '0000'")
        answer = http_client.get(f"{first.url}/readyz")
        assert (answer.status_code, answer.json()["checks"]["migrations"]) == (503, "migration_needed")
        mighty.execute("ALTER DATABASE " + fresh_database + " CONNECTION LIMIT 0")
        with server.superuser("postgres") as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND application_name = %s",
                (fresh_database, "memory-ledger"),
            )
        mighty.execute("ALTER SCHEMA ledger RENAME TO away")
        answer = http_client.get(f"{first.url}/readyz")
        assert answer.status_code == 503
        assert answer.json()["status"] == "not_ready"
        assert http_client.get(f"{first.url}/v1/health").status_code == 200
        stats = http_client.get(f"{first.url}/v1/sessions/s/stats")
        assert stats.status_code == 503
        assert "retry-after" in stats.headers


def test_metrics_count_by_route_and_hold_no_content() -> None:
    with running(InMemoryStore(), metrics=True) as in_flight, httpx.Client(base_url=in_flight.url) as client:
        for number in range(30):
            client.get(f"/v1/sessions/geheim-{number}/stats")
            client.get(f"/geheim-{number}")
        client.request("GEHEIM", "/v1/health")
        text = client.get("/metrics").text
    known = 'memory_ledger_requests_total{method="GET",route="/v1/sessions/{session_id}/stats",status="404"} 30.0'
    assert known in text
    assert 'memory_ledger_requests_total{method="GET",route="none",status="404"} 30.0' in text
    assert "geheim" not in text.lower()
    assert "_created" not in text
    assert len(text.splitlines()) < 120


def test_metrics_are_off_unless_asked_for(service: Running) -> None:
    assert http_client.get(f"{service.url}/metrics").status_code == 404


def test_the_description_is_off_unless_asked_for(service: Running) -> None:
    """trust S-12."""
    assert [http_client.get(f"{service.url}{path}").status_code for path in ("/docs", "/openapi.json")] == [404, 404]
    with running(InMemoryStore(), docs=True) as in_flight:
        described = http_client.get(f"{in_flight.url}/openapi.json").json()["paths"]
    answers = described["/v1/sessions/{session_id}/stats"]["get"]["responses"]
    assert {"200", "401", "403", "404", "422", "429", "503"} <= answers.keys()
    assert answers["422"]["content"].keys() == {"application/problem+json"}
    assert "HTTPValidationError" not in str(described["/v1/memory/probe"]["post"]["responses"])


async def test_many_namespaces_share_one_wiring_and_few_keep_their_indexes() -> None:
    services = Services(InMemoryStore(), open_namespaces=2)
    first = NamespaceHandle(services, "first", "ann")
    for number in range(10):
        await add_user_message(NamespaceHandle(services, f"n-{number}"), "s", "hello")
        assert len(await list_sessions(NamespaceHandle(services, f"n-{number}"))) == 1
    await add_user_message(first, "s", "still open")
    assert (await get_events(first, "s"))[0].actor == "ann"
    await add_user_message(NamespaceHandle(services, "first", "bob"), "s", "by somebody else")
    assert [event.actor for event in await get_events(first, "s")][-1] == "bob"
    assert len(services._indexes) == 2
    assert await namespace_names(services) == sorted(["first", *(f"n-{number}" for number in range(10))])
    await services.close()
    with pytest.raises(Unavailable):
        NamespaceHandle(services, "first")
    with pytest.raises(Unavailable):
        await get_events(first, "s")


async def test_indexes_that_embed_stay_open() -> None:
    services = Services(InMemoryStore(), open_namespaces=1)
    busy, never = services.indexes("busy"), asyncio.Event()
    busy.finder._embedding = asyncio.create_task(never.wait())  # type: ignore[assignment]
    services.indexes("other")
    assert services.indexes("busy") is busy
    await services.close()
    assert not busy.finder.is_embedding


async def test_a_namespace_name_is_checked() -> None:
    store = InMemoryStore()
    services = Services(store)
    with pytest.raises(InvalidInput):
        NamespaceHandle(services, "a/b")
    await add_user_message(NamespaceHandle(services, "a"), "s", "hello")
    assert await store.events.namespace_ids() == [namespace_id("a")]
    await services.close()
