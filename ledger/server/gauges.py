"""Numbers that change without a request: connections, streams, jobs, calls of models. Read every few seconds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from ledger.application.services import Services
from ledger.errors import LedgerError
from ledger.server.notifier import Notifier
from ledger.stores.postgres import PostgresStore
from ledger.worker import Worker

log = logging.getLogger("ledger.server")

EVERY_S: Final = 5.0


class Gauges:
    """The numbers of one process; in several processes those of jobs are of the one that works on them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._connections = self._of_process(registry, "connections", "Open connections to the database.")
        self._busy = self._of_process(registry, "connections_in_use", "Those of them that are in use.")
        self._most = self._of_process(registry, "connections_limit", "The most connections that it opens.")
        self._streams = self._of_process(registry, "streams", "Open event streams.")
        self._due = self._of_jobs(registry, "jobs_due", "Jobs that are due.")
        self._oldest = self._of_jobs(registry, "job_oldest_seconds", "How long the longest due job has been due.")
        self._dead = self._of_jobs(registry, "jobs_dead", "Jobs that failed too often.")
        self._ended = Counter(
            "memory_ledger_job_attempts", "Attempts at jobs, by outcome.", ["kind", "outcome"], registry=registry
        )
        self._calls = Counter(
            "memory_ledger_model_calls", "Calls of models, by outcome.", ["model", "outcome"], registry=registry
        )
        self._tokens = Counter(
            "memory_ledger_model_tokens", "Tokens that models reported.", ["model", "direction"], registry=registry
        )
        self._counted: dict[tuple[Counter, tuple[str, str]], int] = {}

    @staticmethod
    def _of_process(registry: CollectorRegistry, name: str, words: str) -> Gauge:
        return Gauge(f"memory_ledger_{name}", words, registry=registry, multiprocess_mode="livesum")

    @staticmethod
    def _of_jobs(registry: CollectorRegistry, name: str, words: str) -> Gauge:
        return Gauge(f"memory_ledger_{name}", words, ["kind"], registry=registry, multiprocess_mode="livemostrecent")

    @asynccontextmanager
    async def following(
        self, services: Services, *, notifier: Notifier | None = None, worker: Worker | None = None
    ) -> AsyncIterator[None]:
        """Read the numbers again and again while the context is open."""

        async def follow() -> None:
            while True:
                await self.read(services, notifier=notifier, worker=worker)
                await asyncio.sleep(EVERY_S)

        task = asyncio.create_task(follow())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def read(self, services: Services, *, notifier: Notifier | None = None, worker: Worker | None = None) -> None:
        """Read the numbers once; those that the database does not give now stay as they were."""
        if isinstance(services.store, PostgresStore):
            pool = services.store.connections
            self._connections.set(pool.open)
            self._busy.set(pool.in_use)
            self._most.set(pool.limit)
        if notifier is not None:
            self._streams.set(notifier.listeners)
        self._count(self._calls, services.models.ended)
        self._count(self._tokens, services.models.tokens)
        if worker is None:
            return
        self._count(self._ended, worker.ended)
        with _logged():
            for backlog in await worker.backlog():
                self._due.labels(backlog.kind).set(backlog.due)
                self._oldest.labels(backlog.kind).set(backlog.oldest_s)
                self._dead.labels(backlog.kind).set(backlog.dead)

    def _count(self, counter: Counter, counts: Mapping[tuple[str, str], int]) -> None:
        """Let *counter* follow *counts*, which it has counted up to the last call."""
        for labels, count in counts.items():
            counter.labels(*labels).inc(count - self._counted.get((counter, labels), 0))
            self._counted[counter, labels] = count


@contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except LedgerError as fault:
        log.warning("the backlog could not be read: %s", fault.code)
