"""Concurrent writers never lose, duplicate or reorder. Source: trust P-4, R-2, R-3."""

import asyncio
import random
import time
from collections.abc import Sequence

import pytest

from ledger.errors import VersionConflict
from ledger.events import NewEvent
from ledger.events.ids import Stream
from ledger.ports import Appended, Receipt, Store
from tests.support.store_requests import a_request, a_write, an_event, append, ids_of, some_events
from tests.support.whole_log import PrefixReader, assert_whole


async def test_of_two_writers_one_wins_and_the_other_writes_nothing(store: Store, stream: Stream) -> None:
    for version in range(0, 40, 2):
        pairs = [some_events(2), some_events(2)]
        answers = await asyncio.gather(
            *(append(store, stream, *pair, expected=version) for pair in pairs), return_exceptions=True
        )
        losers = [answer for answer in answers if isinstance(answer, VersionConflict)]
        assert [(lost.current, lost.expected) for lost in losers] == [(version + 2, version)]
        stored = await store.events.read_stream(stream, after=version)
        assert [event.event_id for event in stored] == ids_of(pairs[answers.index(losers[0]) - 1])


class Writer:
    """Appends at random to a few streams: blindly, at exact versions, in batches, to several, with keys."""

    def __init__(self, store: Store, streams: list[Stream], seed: str) -> None:
        self._store = store
        self._streams = streams
        self._random = random.Random(seed)
        self.receipts: list[Receipt] = []
        self.appends = 0

    async def append_one(self) -> None:
        """Append one request, whatever it is."""
        kind = self._random.choice((self._blind, self._exact, self._several, self._with_key))
        await kind()
        self.appends += 1

    async def _blind(self) -> None:
        stream = self._random.choice(self._streams)
        events = some_events(self._random.randint(1, 5))
        self._keep(await append(self._store, stream, *events), events)

    async def _exact(self) -> None:
        stream = self._random.choice(self._streams)
        version, _ = await self._store.events.head(stream)
        events = some_events(2)
        attempt = append(self._store, stream, *events, expected=version)
        (answer,) = await asyncio.gather(attempt, return_exceptions=True)
        if isinstance(answer, VersionConflict):
            assert answer.current > version, "a writer lost although nobody won"
            return
        assert isinstance(answer, Appended), answer
        assert answer.receipts[0].version == version + 1
        self._keep(answer, events)

    async def _several(self) -> None:
        chosen, events = self._random.sample(self._streams, 2), some_events(2)
        writes = (a_write(stream, event) for stream, event in zip(chosen, events, strict=True))
        self._keep(await self._store.events.append(a_request(*writes)), events)

    async def _with_key(self) -> None:
        stream, events, key = self._random.choice(self._streams), some_events(2), str(self._random.getrandbits(64))
        request = a_request(a_write(stream, *events), key=key)
        first, second = await asyncio.gather(self._store.events.append(request), self._store.events.append(request))
        assert first.receipts == second.receipts
        self._keep(first, events)

    def _keep(self, appended: Appended, events: Sequence[NewEvent]) -> None:
        assert [receipt.event_id for receipt in appended.receipts] == [event.event_id for event in events]
        self.receipts += appended.receipts


async def check_random_writers(store: Store, namespace: str, seed: int, *, seconds: float, writers: int = 16) -> int:
    """Let writers loose for a while, check everything, and return how many requests they made."""
    streams = [Stream.of(namespace, f"session-{number}") for number in range(6)]
    crew = [Writer(store, streams, f"{seed}-{number}") for number in range(writers)]
    reader = PrefixReader(store, streams)
    end = time.monotonic() + seconds

    async def work(writer: Writer) -> None:
        while time.monotonic() < end:
            await writer.append_one()
            await asyncio.sleep(0)

    await asyncio.gather(*(work(writer) for writer in crew))
    assert await reader.finish() > 0
    await assert_whole(store, namespace, [receipt for writer in crew for receipt in writer.receipts])
    return sum(writer.appends for writer in crew)


async def test_random_writers_leave_a_log_that_agrees_with_itself(store: Store, namespace: str, seed: int) -> None:
    assert await check_random_writers(store, namespace, seed, seconds=1.5) > 50


@pytest.mark.slow
async def test_random_writers_go_on_for_a_minute(store: Store, namespace: str, seed: int) -> None:
    await check_random_writers(store, namespace, seed, seconds=60)


async def check_positions(store: Store, namespace: str, *, appends: int, in_flight: int = 512) -> None:
    """Append one event at a time, many at once, and check that no position is missing."""
    streams = [Stream.of(namespace, f"session-{number}") for number in range(64)]
    receipts: list[Receipt] = []
    numbers = iter(range(appends))

    async def work() -> None:
        for number in numbers:
            appended = await append(store, streams[number % 64], an_event())
            receipts.extend(appended.receipts)

    await asyncio.gather(*(work() for _ in range(in_flight)))
    assert len(receipts) == appends
    assert len(await assert_whole(store, namespace, receipts)) == appends


async def test_a_thousand_concurrent_appends_have_positions_without_gaps(store: Store, namespace: str) -> None:
    await check_positions(store, namespace, appends=1_000)


@pytest.mark.full
@pytest.mark.postgres
async def test_fifty_thousand_concurrent_appends_have_positions_without_gaps(
    postgres_store: Store, namespace: str
) -> None:
    """Source: trust P-4, at its full number."""
    await check_positions(postgres_store, namespace, appends=50_000)
