"""Numbers that change without a request: connections, streams, jobs. They are read every few seconds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from ledger.errors import LedgerError
from ledger.ports import Store
from ledger.ports.jobs import JobKind
from ledger.server.notifier import Notifier
from ledger.stores.postgres import PostgresStore
from ledger.worker import Worker

log = logging.getLogger("ledger.server")

EVERY_S: Final = 5.0


class Gauges:
    """The numbers of one process; in several processes those of jobs are of the one that works on them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._connections = Gauge(
            "memory_ledger_connections", "Open connections to the database.", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self._streams = Gauge(
            "memory_ledger_streams", "Open event streams.", registry=registry, multiprocess_mode="livesum"
        )
        self._due = self._of_jobs(registry, "jobs_due", "Jobs that are due.")
        self._oldest = self._of_jobs(registry, "job_oldest_seconds", "How long the longest due job has been due.")
        self._dead = self._of_jobs(registry, "jobs_dead", "Jobs that failed too often.")
        self._ended = Counter(
            "memory_ledger_job_attempts", "Attempts at jobs, by outcome.", ["kind", "outcome"], registry=registry
        )
        self._counted: dict[tuple[JobKind, str], int] = {}

    @staticmethod
    def _of_jobs(registry: CollectorRegistry, name: str, words: str) -> Gauge:
        return Gauge(f"memory_ledger_{name}", words, ["kind"], registry=registry, multiprocess_mode="livemostrecent")

    @asynccontextmanager
    async def following(
        self, store: Store, *, notifier: Notifier | None = None, worker: Worker | None = None
    ) -> AsyncIterator[None]:
        """Read the numbers again and again while the context is open."""

        async def follow() -> None:
            while True:
                await self.read(store, notifier=notifier, worker=worker)
                await asyncio.sleep(EVERY_S)

        task = asyncio.create_task(follow())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def read(self, store: Store, *, notifier: Notifier | None = None, worker: Worker | None = None) -> None:
        """Read the numbers once; those that the database does not give now stay as they were."""
        if isinstance(store, PostgresStore):
            self._connections.set(store.open_connections)
        if notifier is not None:
            self._streams.set(notifier.listeners)
        if worker is None:
            return
        for key, count in worker.ended.items():
            self._ended.labels(*key).inc(count - self._counted.get(key, 0))
            self._counted[key] = count
        with _logged():
            for backlog in await worker.backlog():
                self._due.labels(backlog.kind).set(backlog.due)
                self._oldest.labels(backlog.kind).set(backlog.oldest_s)
                self._dead.labels(backlog.kind).set(backlog.dead)


@contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except LedgerError as fault:
        log.warning("the backlog could not be read: %s", fault.code)
