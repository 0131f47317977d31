"""Quotas of each caller: requests, events and bytes over time. Source: trust S-9, I-56.

The number of events of a request is known only when they are stored, so they are counted then. A caller without
allowance may read, but not write until it has filled again.
"""

import time
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from ledger.ports import Appended, AppendRequest, EventStore
from ledger.server.service_settings import ServiceSettings
from ledger.server.traffic.observers import ObservedRequest
from ledger.server.traffic.rates import Rates
from ledger.stores.decorators import EventStoreDecorator

_DAY_S: Final = 86_400
#: Events may come in bursts: the allowance is that of this many seconds.
_BURST_S: Final = 60

_request: ContextVar[ObservedRequest | None] = ContextVar("request", default=None)


class Quotas:
    """The allowances of all callers of one application; a `RequestObserver`."""

    def __init__(self, settings: ServiceSettings) -> None:
        events, body_bytes = settings.event_limit_per_s, settings.body_bytes_per_day
        self._requests = Rates("requests", per_second=settings.rate_limit_per_s, most=settings.rate_limit_burst)
        self._events = Rates("events", per_second=events, most=events * _BURST_S)
        self._bytes = Rates("bytes", per_second=body_bytes / _DAY_S, most=body_bytes)

    def admit(self, key: str) -> None:
        """Count a request of *key*.

        Raises:
            RateLimited: there are too many requests.
        """
        self._requests.take(key, time.monotonic())

    def admit_write(self, key: str) -> None:
        """Refuse a write of *key* without allowance.

        Raises:
            RateLimited: an allowance is used up.
        """
        now_s = time.monotonic()
        self._events.check(key, now_s)
        self._bytes.check(key, now_s)

    def begin(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.begin`."""
        _request.set(observed)

    def end(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.end`."""
        self._spend(self._bytes, observed, observed.received)

    def spend_bytes(self, key: str, count: int) -> None:
        """Count *count* more bytes of a body of *key*: what it has unpacked beyond what arrived."""
        self._bytes.spend(key, count, time.monotonic())

    def spend_events(self, count: int) -> None:
        """Count *count* events that the current request has appended."""
        observed = _request.get()
        if observed is not None:
            self._spend(self._events, observed, count)

    def _spend(self, rates: Rates, observed: ObservedRequest, amount: int) -> None:
        caller = observed.scope.get("state", {}).get("caller")
        if caller is not None:
            rates.spend(caller.key, amount, time.monotonic())


class CountingEventStore(EventStoreDecorator):
    """Counts the events that requests append."""

    def __init__(self, events: EventStore, quotas: Quotas) -> None:
        super().__init__(events)
        self._quotas = quotas

    async def append(self, request: AppendRequest) -> Appended:
        """See `ports.event_store.EventStore.append`; a retried request is not counted again."""
        appended = await super().append(request)
        if not appended.replayed:
            self._quotas.spend_events(len(appended.receipts))
        return appended

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        """See `ports.event_store.EventStore.append_all`."""
        count = await super().append_all(requests)
        self._quotas.spend_events(count)
        return count
