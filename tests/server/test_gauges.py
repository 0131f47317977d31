"""Metrics that change without a request, and the management port of a worker. Source: trust S-12."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ledger.application.services import open_services
from ledger.errors import DatabaseUnavailable
from ledger.ids import namespace_id
from ledger.ports.jobs import KINDS, JobBacklog
from ledger.server.gauges import Gauges
from ledger.server.notifier import Notifier
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from ledger.worker import Worker, load_worker_settings
from tests.support import http_client
from tests.support.databases import Server


@asynccontextmanager
async def a_worker(store: InMemoryStore | None = None) -> AsyncIterator[Worker]:
    async with open_services(Settings(), store=store or InMemoryStore()) as services:
        yield Worker(services, settings=load_worker_settings())


def numbers(registry: CollectorRegistry) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in generate_latest(registry).decode().splitlines() if line[0] != "#"]
    return {name.removeprefix("memory_ledger_"): float(number) for name, number in lines}


async def test_a_backlog_names_every_kind_so_that_a_gauge_returns_to_zero() -> None:
    async with a_worker() as worker:
        assert [(each.kind, each.due) for each in await worker.backlog()] == [(kind, 0) for kind in KINDS]


async def test_jobs_are_counted_by_kind_and_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CollectorRegistry()
    gauges = Gauges(registry)
    async with a_worker() as worker:

        async def backlog() -> list[JobBacklog]:
            return [JobBacklog("extract", due=3, oldest_s=61.5, dead=2)]

        async def away() -> list[JobBacklog]:
            raise DatabaseUnavailable("away")

        monkeypatch.setattr(worker, "backlog", backlog)
        worker.ended["extract", "ok"] += 2  # type: ignore[index]
        await gauges.read(worker.store, worker=worker)
        worker.ended["extract", "ok"] += 1  # type: ignore[index]
        worker.ended["extract", "timeout"] += 1  # type: ignore[index]
        monkeypatch.setattr(worker, "backlog", away)
        await gauges.read(worker.store, worker=worker)
    found = numbers(registry)
    assert found['jobs_due{kind="extract"}'] == 3
    assert found['job_oldest_seconds{kind="extract"}'] == 61.5
    assert found['jobs_dead{kind="extract"}'] == 2
    assert found['job_attempts_total{kind="extract",outcome="ok"}'] == 3
    assert found['job_attempts_total{kind="extract",outcome="timeout"}'] == 1


@pytest.mark.postgres
async def test_connections_and_streams_are_counted(server: Server, shared_database: str) -> None:
    registry = CollectorRegistry()
    store = await PostgresStore.open(server.target(shared_database))
    try:
        notifier = Notifier(store.events)
        async with notifier.listen(namespace_id("somewhere")):
            await Gauges(registry).read(store, notifier=notifier)
    finally:
        await store.close()
    assert numbers(registry)["streams"] == 1
    assert numbers(registry)["connections"] >= 1


async def test_a_worker_reports_whether_it_looks_for_work(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    async with a_worker(store) as worker:
        assert not worker.looks_for_work
        await worker.run_once()
        assert worker.looks_for_work

        async def away() -> list[object]:
            raise DatabaseUnavailable("away")

        monkeypatch.setattr(store.events, "namespace_ids", away)
        monkeypatch.setattr("ledger.worker.worker._PATIENCE_S", 0.0)
        monkeypatch.setattr(worker, "_settings", worker._settings.model_copy(update={"poll_s": 0.01}))
        await worker.run_once()
        await asyncio.sleep(0.1)
        assert not worker.looks_for_work


@pytest.mark.postgres
def test_a_worker_answers_on_its_management_port(server: Server, shared_database: str) -> None:
    with server.login("ledger_app") as login, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        known = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_LEDGER_")}
        process = subprocess.Popen(
            [sys.executable, "-c", "from ledger.cli import main; main()", "worker"],
            env={
                **known,
                "MEMORY_LEDGER_DATABASE_URL": server.url_of(login, shared_database),
                "MEMORY_LEDGER_MANAGEMENT_PORT": str(port),
                "MEMORY_LEDGER_METRICS": "true",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            url, until = f"http://127.0.0.1:{port}", time.monotonic() + 20
            while True:
                try:
                    if http_client.get(f"{url}/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                assert time.monotonic() < until
                time.sleep(0.1)
            assert http_client.get(f"{url}/healthz").status_code == 204
            assert "memory_ledger_jobs_due" in http_client.get(f"{url}/metrics").text
            assert http_client.get(f"{url}/v1/sessions").status_code == 404
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert not re.search("^Traceback", errors, re.MULTILINE)
