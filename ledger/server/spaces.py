"""Ledgers by namespace over one store, made on first use."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from ledger.errors import Unavailable
from ledger.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.memory.putting import Putting
from ledger.names import check_name
from ledger.ports import Clock, Store
from ledger.ports.indexes import Checkpoint, IndexedSession
from ledger.ports.search import Embedder
from ledger.prices import load_prices
from ledger.replay.builds import live_builds, still_there
from ledger.replay.session_index import SessionIndex
from ledger.settings import Settings
from ledger.summarizers import SummarizerChoice

_ASKED_AT_ONCE: Final = 500


class ServedLedger(MemoryLedger, Putting):
    """A ledger with what only the service asks of it."""


class _Place:
    """A ledger, and how many use it now."""

    def __init__(self, ledger: ServedLedger) -> None:
        self.ledger = ledger
        self.lent = 0
        self.kept = False


class Spaces:
    """One ledger for each namespace and actor, since an event names who caused it.

    At most *capacity* that nobody uses are kept open, the longest unused goes first.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        clock: Clock,
        summarizer: SummarizerChoice = None,
        embedder: Embedder | None = None,
        reconstruct: bool = False,
        capacity: int = 256,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._summarizer = summarizer
        self._embedder = embedder
        self._reconstruct = reconstruct
        self._capacity = capacity
        self._prices = load_prices(settings.prices)
        self._places: OrderedDict[tuple[str, str], _Place] = OrderedDict()
        self._names: dict[UUID, str] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def ledger(self, namespace: str, actor: str = "") -> ServedLedger:
        """Return a ledger that stays open until all are closed; a request borrows one with `lend`.

        Raises:
            InvalidInput: ``bad_name``.
            Unavailable: the service is stopping.
        """
        place = self._place(namespace, actor)
        place.kept = True
        return place.ledger

    @asynccontextmanager
    async def lend(self, namespace: str, actor: str = "") -> AsyncIterator[ServedLedger]:
        """Yield a ledger that stays open for as long as the context lasts.

        Raises:
            InvalidInput: ``bad_name``.
            Unavailable: the service is stopping.
        """
        place = self._place(namespace, actor)
        place.lent += 1
        try:
            yield place.ledger
        finally:
            place.lent -= 1
            self._make_room()

    async def live_sessions(
        self, names: Sequence[str], *, user_id: str | None, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        """Return how many sessions live in the namespaces of these *names*, and the *limit* newest (http W-15).

        Raises:
            Unavailable: the service is stopping.
        """
        spaces = {namespace_id(name): name for name in names}

        async def caught_up(space: UUID, build: Checkpoint | None, last: int) -> int:
            async with self.lend(spaces[space]) as ledger:
                return await ledger.listed()

        while True:
            builds = await live_builds(self._store, list(spaces), SessionIndex, caught_up)
            found = await self._store.live_index(builds, user_id=user_id, moment=self._clock.now(), limit=limit)
            if await still_there(self._store, SessionIndex.name, builds):
                return found

    async def known(self) -> list[str]:
        """Return the names of all namespaces there are, by name."""
        new = [each for each in await self._store.namespace_ids() if each not in self._names]
        for at in range(0, len(new), _ASKED_AT_ONCE):
            found = await self._store.namespaces(new[at : at + _ASKED_AT_ONCE])
            self._names.update((space, info.namespace) for space, info in found.items())
        return sorted(self._names.values())

    async def close(self) -> None:
        """Close all ledgers, and take no more requests."""
        self._closed = True
        places, self._places = list(self._places.values()), OrderedDict()
        await asyncio.gather(*(place.ledger.close() for place in places), *self._closing)

    def _place(self, namespace: str, actor: str) -> _Place:
        if self._closed:
            raise Unavailable("the service is stopping; try again")
        key = (namespace, actor)
        if key in self._places:
            self._places.move_to_end(key)
            return self._places[key]
        ledger = ServedLedger(
            self._store,
            namespace=check_name(namespace, field="namespace"),
            actor=actor,
            compaction_lease_s=self._settings.compaction_lease_s,
            summarizer_timeout_s=self._settings.summarizer_timeout_s,
            clock=self._clock,
            prices=self._prices,
            search_language=self._settings.search_language,
            embedder=self._embedder,
            reconstruct=self._reconstruct,
        )
        ledger.set_summarizer(None, self._summarizer)
        place = self._places[key] = _Place(ledger)
        self._make_room(new=place)
        return place

    def _make_room(self, new: _Place | None = None) -> None:
        unused = [key for key, place in self._places.items() if not (place.lent or place.kept or place is new)]
        for key in unused[: max(0, len(self._places) - self._capacity)]:
            task = asyncio.get_running_loop().create_task(self._places.pop(key).ledger.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
