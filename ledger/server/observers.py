"""What is seen of requests from outside: logs, metrics, spans; never their content (trust P-16).

A path may hold names and a query anything, so all three know a request by its route's template.
"""

import logging
import time
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Scope

from ledger.ports import Clock

log = logging.getLogger("ledger.server")

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(slots=True)
class ObservedRequest:
    """One request, as the outside may know it; *code* is that of the error it met."""

    request_id: str
    method: str
    scope: Scope
    began_s: float
    route: str = "none"
    status: int = 0
    code: str = ""
    received: int = 0
    seconds: float = 0.0
    extra: dict[str, object] = field(default_factory=dict)


class Watcher(Protocol):
    """Something that is told of requests."""

    def begin(self, seen: ObservedRequest) -> None:
        """Note that a request came."""
        ...

    def end(self, seen: ObservedRequest) -> None:
        """Note how it ended."""
        ...


class Observer:
    """Tells each of its *watchers*."""

    def __init__(self, clock: Clock, *watchers: Watcher) -> None:
        self._clock = clock
        self._watchers = watchers

    def begin(self, scope: Scope) -> ObservedRequest:
        """Return the record of a request that came."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        seen = ObservedRequest(self._clock.ulid(), method, scope, time.perf_counter())
        for watcher in self._watchers:
            watcher.begin(seen)
        return seen

    def end(self, seen: ObservedRequest) -> None:
        """Note how a request ended."""
        seen.seconds = time.perf_counter() - seen.began_s
        state = seen.scope.get("state", {})
        seen.route = state.get("route", seen.route)
        seen.code = seen.code or state.get("code", "")
        for watcher in self._watchers:
            watcher.end(seen)

    def crashed(self, seen: ObservedRequest, fault: BaseException) -> None:
        """Note an error that is none of ours."""
        log.error("request %s crashed", seen.request_id, exc_info=fault)


class Log:
    """A line for each request."""

    def begin(self, seen: ObservedRequest) -> None:
        """See `Watcher.begin`."""

    def end(self, seen: ObservedRequest) -> None:
        """See `Watcher.end`."""
        log.info(
            "request",
            extra={
                "fields": {
                    "request_id": seen.request_id,
                    "method": seen.method,
                    "route": seen.route,
                    "status": seen.status,
                    "code": seen.code or None,
                    "bytes_in": seen.received,
                    "ms": round(seen.seconds * 1000, 1),
                }
            },
        )
