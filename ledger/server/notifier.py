"""Wake readers after an append: at once if this process appended, after the next poll if another one did.

One task polls a namespace while it has listeners, however many; a namespace without listeners is not polled.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from uuid import UUID

from ledger.errors import LedgerError, RateLimited
from ledger.ports import Appended, AppendRequest, EventStore
from ledger.stores.decorators import EventStoreDecorator

log = logging.getLogger("ledger.server")

POLL_S = 1.0
MOST_LISTENERS = 1_000


class Signal:
    """Sent when a namespace has new events; a listener takes `next`, then reads, then waits for it."""

    def __init__(self) -> None:
        self.listeners = 0
        self.poller: asyncio.Task[None] | None = None
        self._next = asyncio.Event()

    @property
    def next(self) -> asyncio.Event:
        """The event that is set when the signal is sent again."""
        return self._next

    def send(self) -> None:
        """Wake all current listeners."""
        sent, self._next = self._next, asyncio.Event()
        sent.set()


class Notifier:
    """The signals of one event store, by namespace; at most *most* listeners in all."""

    def __init__(self, events: EventStore, *, poll_s: float = POLL_S, most: int = MOST_LISTENERS) -> None:
        self._events = events
        self._poll_s = poll_s
        self._most = most
        self._listeners = 0
        self._signals: dict[UUID, Signal] = {}

    @property
    def listeners(self) -> int:
        """The number of open streams."""
        return self._listeners

    @asynccontextmanager
    async def listen(self, namespace_id: UUID) -> AsyncIterator[Signal]:
        """Yield the signal of a namespace.

        Raises:
            RateLimited: there are too many listeners.
        """
        if self._listeners >= self._most:
            raise RateLimited(1, "streams")
        signal = self._signals.setdefault(namespace_id, Signal())
        self._listeners += 1
        signal.listeners += 1
        if signal.poller is None:
            signal.poller = asyncio.create_task(self._poll(namespace_id, signal))
        try:
            yield signal
        finally:
            self._listeners -= 1
            signal.listeners -= 1
            if not signal.listeners:
                signal.poller.cancel()
                del self._signals[namespace_id]

    def notify(self, namespace_id: UUID) -> None:
        """Wake the listeners of a namespace."""
        if namespace_id in self._signals:
            self._signals[namespace_id].send()

    def notify_all(self) -> None:
        """Wake all listeners."""
        for signal in self._signals.values():
            signal.send()

    async def _poll(self, namespace_id: UUID, signal: Signal) -> None:
        """Send the signal when another process has appended; retry while the database cannot be reached."""
        known = -1
        while True:
            try:
                info = await self._events.namespace(namespace_id)
            except LedgerError as fault:
                log.warning("a feed waits for the database: %s", fault.code)
            else:
                last = info.last_position if info else 0
                if last != known:
                    known = last
                    signal.send()
            await asyncio.sleep(self._poll_s)


class NotifyingEventStore(EventStoreDecorator):
    """Sends a signal after each append."""

    def __init__(self, events: EventStore, notifier: Notifier) -> None:
        super().__init__(events)
        self._notifier = notifier

    async def append(self, request: AppendRequest) -> Appended:
        """See `ports.event_store.EventStore.append`."""
        appended = await super().append(request)
        if request.writes:
            self._notifier.notify(request.writes[0].stream.namespace_id)
        return appended

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        """See `ports.event_store.EventStore.append_all`."""
        count = await super().append_all(requests)
        self._notifier.notify_all()
        return count
