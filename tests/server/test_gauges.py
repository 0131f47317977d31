"""Metrics that change without a request, and the management port of a worker. Source: trust S-12."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ledger.application.handle import NamespaceHandle
from ledger.application.services import open_services
from ledger.errors import DatabaseUnavailable, SummarizerFailed
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.ports.job_queue import JobBacklog, JobKind
from ledger.server.gauges import Gauges
from ledger.server.notifier import Notifier
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from ledger.worker import Worker, load_worker_settings
from projections.prompts import SummaryRequest
from tests.support import http_client
from tests.support.databases import Server


@asynccontextmanager
async def a_worker(store: InMemoryStore | None = None) -> AsyncIterator[Worker]:
    async with open_services(Settings(), store=store or InMemoryStore()) as services:
        yield Worker(services, settings=load_worker_settings())


def numbers(registry: CollectorRegistry) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in generate_latest(registry).decode().splitlines() if line[0] != "#"]
    return {name.removeprefix("memory_ledger_"): float(number) for name, number in lines}


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
        await gauges.read(worker.services, worker=worker)
        worker.ended["extract", "ok"] += 1  # type: ignore[index]
        worker.ended["extract", "timeout"] += 1  # type: ignore[index]
        monkeypatch.setattr(worker, "backlog", away)
        await gauges.read(worker.services, worker=worker)
    found = numbers(registry)
    assert found['jobs_due{kind="extract"}'] == 3
    assert found['job_oldest_seconds{kind="extract"}'] == 61.5
    assert found['jobs_dead{kind="extract"}'] == 2
    assert found['job_attempts_total{kind="extract",outcome="ok"}'] == 3
    assert found['job_attempts_total{kind="extract",outcome="timeout"}'] == 1


@pytest.mark.postgres
async def test_connections_are_counted(server: Server, shared_database: str) -> None:
    registry = CollectorRegistry()
    store, gauges = await PostgresStore.open(server.target(shared_database)), Gauges(registry)
    try:
        async with open_services(Settings(), store=store) as services:
            async with store._pool.transaction():
                await gauges.read(services)
            busy = numbers(registry)
            await gauges.read(services)
            quiet = numbers(registry)
    finally:
        await store.close()
    assert (busy["connections_in_use"], quiet["connections_in_use"]) == (1, 0)
    assert (quiet["connections"], quiet["connections_limit"]) == (2, 8)


async def test_streams_are_counted() -> None:
    registry = CollectorRegistry()
    gauges = Gauges(registry)
    async with open_services(Settings(), store=InMemoryStore()) as services:
        notifier = Notifier(services.store.events)
        async with notifier.listen(namespace_id("somewhere")):
            await gauges.read(services, notifier=notifier)
            assert numbers(registry)["streams"] == 1
        await gauges.read(services, notifier=notifier)
    assert numbers(registry)["streams"] == 0


async def test_calls_of_models_are_counted_by_model_and_outcome() -> None:
    registry = CollectorRegistry()
    gauges = Gauges(registry)

    class Model:
        method, model = "llm", "gpt-1"
        answers = iter([SummaryText("Short.", 120, 7), SummarizerFailed("timeout", "late"), SummaryText("Short.", 80)])

        async def summarize(self, request: SummaryRequest) -> SummaryText:
            answer = next(self.answers)
            if isinstance(answer, SummarizerFailed):
                raise answer
            return answer

    config = {"maxEntries": 5, "recentWindow": 1, "minEntriesToCompress": 2}
    async with open_services(Settings(), store=InMemoryStore(), config=config, summarizer=Model()) as services:
        ledger = MemoryLedger(NamespaceHandle(services, "n"))
        for first in range(3):
            for number in range(6):
                await ledger.add_user_message("s", f"message {first} {number}", tokens=10)
            await ledger.settle()
            await gauges.read(services)
    found = numbers(registry)
    assert found['model_calls_total{model="gpt-1",outcome="ok"}'] == 2
    assert found['model_calls_total{model="gpt-1",outcome="timeout"}'] == 1
    assert found['model_tokens_total{direction="input",model="gpt-1"}'] == 200
    assert found['model_tokens_total{direction="output",model="gpt-1"}'] == 7
    assert not [name for name in found if name.endswith("_created") or "_created{" in name]


async def test_a_backlog_that_is_done_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that no worker of these settings does are no backlog: they wait for a worker with a model."""
    registry = CollectorRegistry()
    gauges, store = Gauges(registry), InMemoryStore()
    answers = iter([[JobBacklog("promote", 3, 61.5, 2), JobBacklog("extract", 9, 7200, 0)], []])

    async def backlog(namespace_ids: Sequence[UUID], *, kinds: Sequence[JobKind]) -> list[JobBacklog]:
        return [each for each in next(answers) if each.kind in kinds]

    monkeypatch.setattr(store.jobs, "backlog", backlog)
    async with a_worker(store) as worker:
        await MemoryLedger(NamespaceHandle(worker.services, "n")).add_user_message("s", "hello")
        for due, oldest_s, dead in ((3, 61.5, 2), (0, 0, 0)):
            await gauges.read(worker.services, worker=worker)
            found = numbers(registry)
            assert [found[f'{name}{{kind="promote"}}'] for name in ("jobs_due", "job_oldest_seconds", "jobs_dead")] == [
                *(due, oldest_s, dead)
            ]
            assert 'jobs_due{kind="extract"}' not in found


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


@pytest.mark.full
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
