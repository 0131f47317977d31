"""What logs, metrics, spans and quotas know of requests; never their content (trust P-16).

A path may hold names and a query anything, so they know a request by the template of its route.
"""

import logging
import time
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Scope

from ledger.ports import Clock
from ledger.server.traffic.slots import PROBES

log = logging.getLogger("ledger.server")

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(slots=True)
class ObservedRequest:
    """The observable facts of one request; *code* is that of its error."""

    request_id: str
    method: str
    scope: Scope
    started_s: float
    route: str = "none"
    status: int = 0
    code: str = ""
    received: int = 0
    seconds: float = 0.0
    extra: dict[str, object] = field(default_factory=dict)


class RequestObserver(Protocol):
    """Is notified of each request."""

    def begin(self, observed: ObservedRequest) -> None:
        """Record the start of a request."""
        ...

    def end(self, observed: ObservedRequest) -> None:
        """Record the end of a request."""
        ...


class Observers:
    """Notifies each of *observers*."""

    def __init__(self, clock: Clock, *observers: RequestObserver) -> None:
        self._clock = clock
        self._observers = observers

    def begin(self, scope: Scope) -> ObservedRequest:
        """Record and return a new request."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        observed = ObservedRequest(self._clock.ulid(), method, scope, time.perf_counter())
        for observer in self._observers:
            observer.begin(observed)
        return observed

    def end(self, observed: ObservedRequest) -> None:
        """Record the end of a request."""
        observed.seconds = time.perf_counter() - observed.started_s
        state = observed.scope.get("state", {})
        observed.route = state.get("route", observed.route)
        observed.code = observed.code or state.get("code", "")
        for observer in self._observers:
            observer.end(observed)

    def crashed(self, observed: ObservedRequest, fault: BaseException) -> None:
        """Log an error that is not a `LedgerError`."""
        log.error("request %s crashed", observed.request_id, exc_info=fault)


class RequestLog:
    """Writes a log line for each request."""

    def begin(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.begin`."""

    def end(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.end`."""
        level = logging.DEBUG if observed.route in PROBES else logging.INFO  # probes come all the time
        if log.isEnabledFor(level):
            fields = {
                "request_id": observed.request_id,
                "method": observed.method,
                "route": observed.route,
                "status": observed.status,
                "code": observed.code or None,
                "bytes_in": observed.received,
                "ms": round(observed.seconds * 1000, 1),
            }
            # not log.info: it would look for its caller in the stack
            log.handle(log.makeRecord(log.name, level, "", 0, "request", (), None, extra={"fields": fields}))
