"""Metrics for Prometheus; labels are route templates, methods and statuses, so they are few and without content."""

import os
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)

from ledger.server.gauges import Gauges
from ledger.server.traffic.observers import ObservedRequest

#: The variable by which prometheus_client learns where several processes count together.
SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"

disable_created_metrics()  # type: ignore[no-untyped-call]  # twice the series, and nobody reads them


class Metrics:
    """The metrics of one application. Source: trust S-12."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.gauges = Gauges(self._registry)
        self._requests = Counter(
            "memory_ledger_requests", "Requests answered.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "memory_ledger_request_seconds", "Time to answer.", ["method", "route"], registry=self._registry
        )
        self._refused = Counter(
            "memory_ledger_refused", "Requests refused, by the error's code.", ["code"], registry=self._registry
        )
        self._bytes = Counter("memory_ledger_received_bytes", "Bytes of bodies.", registry=self._registry)
        self._under_way = Gauge(
            "memory_ledger_requests_under_way",
            "Requests being answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def begin(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.begin`."""
        self._under_way.inc()

    def end(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.end`."""
        self._under_way.dec()
        self._requests.labels(observed.method, observed.route, str(observed.status)).inc()
        self._seconds.labels(observed.method, observed.route).observe(observed.seconds)
        self._bytes.inc(observed.received)
        if observed.code:
            self._refused.labels(observed.code).inc()

    def text(self) -> bytes:
        """Return the metrics of all processes in the text format of Prometheus."""
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        multiprocess.MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)


def forget_process(pid: int) -> None:
    """Count the requests under way of a process that died no more."""
    if SHARED_FOLDER in os.environ:
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
