"""Waking readers when something was appended: by this process at once, by others within a poll.

A namespace is polled by one task while anybody waits for it, whoever many they are, and by none while nobody does.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from uuid import UUID

from ledger.errors import LedgerError, RateLimited
from ledger.ports import Appended, AppendRequest, Store

log = logging.getLogger("ledger.server")

POLL_S = 1.0
MOST_LISTENERS = 1_000


class Bell:
    """Rings for a namespace; who listens takes `ringing` first, reads, and then waits for it."""

    def __init__(self) -> None:
        self.listeners = 0
        self.poller: asyncio.Task[None] | None = None
        self._next = asyncio.Event()

    @property
    def ringing(self) -> asyncio.Event:
        """What is set at the next ring."""
        return self._next

    def ring(self) -> None:
        """Wake all who wait now."""
        rung, self._next = self._next, asyncio.Event()
        rung.set()


class Bells:
    """The bells of one store, by namespace; at most *most* listeners in all."""

    def __init__(self, store: Store, *, poll_s: float = POLL_S, most: int = MOST_LISTENERS) -> None:
        self._store = store
        self._poll_s = poll_s
        self._most = most
        self._listeners = 0
        self._bells: dict[UUID, Bell] = {}
        self._append, self._append_all = store.append, store.append_all
        store.append = self._heard  # type: ignore[method-assign]  # the one store of a service
        store.append_all = self._heard_all  # type: ignore[method-assign]

    @asynccontextmanager
    async def listen(self, namespace_id: UUID) -> AsyncIterator[Bell]:
        """Yield the bell of a namespace.

        Raises:
            RateLimited: too many listen already.
        """
        if self._listeners >= self._most:
            raise RateLimited(1, "streams")
        bell = self._bells.setdefault(namespace_id, Bell())
        self._listeners += 1
        bell.listeners += 1
        if bell.poller is None:
            bell.poller = asyncio.create_task(self._poll(namespace_id, bell))
        try:
            yield bell
        finally:
            self._listeners -= 1
            bell.listeners -= 1
            if not bell.listeners:
                bell.poller.cancel()
                del self._bells[namespace_id]

    async def _poll(self, namespace_id: UUID, bell: Bell) -> None:
        """Ring when another process has appended; a database that is away is asked again."""
        seen = -1
        while True:
            try:
                info = await self._store.namespace(namespace_id)
            except LedgerError as fault:
                log.warning("a feed waits for the database: %s", fault.code)
            else:
                last = info.last_position if info else 0
                if last != seen:
                    seen = last
                    bell.ring()
            await asyncio.sleep(self._poll_s)

    async def _heard(self, request: AppendRequest) -> Appended:
        appended = await self._append(request)
        if self._bells and request.writes:
            self._ring({request.writes[0].stream.namespace_id})
        return appended

    async def _heard_all(self, requests: Iterable[AppendRequest]) -> int:
        count = await self._append_all(requests)
        self._ring(set(self._bells))
        return count

    def _ring(self, namespaces: set[UUID]) -> None:
        for each in namespaces & self._bells.keys():
            self._bells[each].ring()
