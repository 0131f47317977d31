"""Writers that keep what they were told, and the check of the log against it. Source: trust §10, F-1, F-2.

Each batch carries its name and size in every event, so the log alone tells whether one is half-written.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import count

import msgspec

from ledger.errors import Unavailable
from ledger.events import StoredEvent
from ledger.events.codec import SALT_BYTES
from ledger.events.ids import Stream
from ledger.ports import Appended, Appender, AppendRequest, Receipt, Store
from ledger.stores.postgres import PostgresStore, Target
from tests.support.store_requests import a_request, a_write, an_event
from tests.support.whole_log import assert_whole, whole_log

Keep = Callable[[Appended], None]


class Piece(msgspec.Struct):
    """What a batch's event carries, as text: ``name number/size``."""

    text: str


_piece = msgspec.json.Decoder(Piece)


@asynccontextmanager
async def opened(target: Target, *, group_commit: bool = True, patience_s: float = 8.0) -> AsyncIterator[PostgresStore]:
    """Yield the store of *target*, and close it."""
    store = await PostgresStore.open(target, group_commit=group_commit, patience_s=patience_s)
    try:
        yield store
    finally:
        await store.close()


def a_batch(streams: Sequence[Stream], name: str, chance: random.Random, largest: int) -> AppendRequest:
    """Return up to *largest* events for each of one or two of *streams*."""
    chosen = chance.sample(streams, chance.choice((1, 1, 2)))
    sizes = [chance.randint(1, largest) for _ in chosen]
    numbers = count(1)
    writes = [
        a_write(stream, *(an_event(f"{name} {next(numbers)}/{sum(sizes)}") for _ in range(size)))
        for stream, size in zip(chosen, sizes, strict=True)
    ]
    return a_request(*writes)


class Writer:
    """Appends batches until it is cancelled; a batch without an answer is not sent again."""

    def __init__(self, store: Appender, streams: Sequence[Stream], name: str, keep: Keep, *, largest: int = 3) -> None:
        self._store = store
        self._streams = streams
        self._name = name
        self._keep = keep
        self._largest = largest
        self._chance = random.Random(name)
        self.unknown = 0

    async def run(self) -> None:
        """Append, and record each answer at once."""
        for number in count():
            batch = a_batch(self._streams, f"{self._name}-{number}", self._chance, self._largest)
            try:
                appended = await self._store.events.append(batch)
            except Unavailable:
                self.unknown += 1
                await asyncio.sleep(0.02)
            else:
                self._keep(appended)
            await asyncio.sleep(0)


def streams_of(namespace: str) -> list[Stream]:
    """Return the sessions that all writers share."""
    return [Stream.of(namespace, f"session-{number}") for number in range(6)]


def assert_batches_whole(log: Iterable[StoredEvent]) -> int:
    """Assert that of each batch in *log* every event is there; return how many batches."""
    batches: dict[str, list[str]] = defaultdict(list)
    for event in log:
        assert event.content is not None
        name, _, place = _piece.decode(event.content[SALT_BYTES:]).text.rpartition(" ")
        batches[name].append(place)
    for name, places in batches.items():
        wanted = [f"{number}/{len(places)}" for number in range(1, len(places) + 1)]
        assert places == wanted, f"batch {name} is half-written: {places}"
    return len(batches)


async def assert_stored(store: Store, namespace: str, acknowledged: Sequence[Receipt]) -> int:
    """Assert that the log holds what was acknowledged and nothing by halves; return how many batches it holds.

    Source: trust P-1.
    """
    stored = {event.event_id for event in await whole_log(store, namespace)}
    lost = sum(receipt.event_id not in stored for receipt in acknowledged)
    assert not lost, f"{lost} of {len(acknowledged)} acknowledged events are lost"
    return assert_batches_whole(await assert_whole(store, namespace, acknowledged))
