"""Reads of many sessions in one query return what reads one by one return."""

import asyncio
import random

import pytest

from ledger.events.ids import Stream
from ledger.history import batched_reads
from ledger.history.batched_reads import BatchedReads
from ledger.ports import Store
from ledger.ports.snapshot_store import Snapshot
from tests.support.counting_store import CountingStore
from tests.support.store_requests import a_request, a_write, an_event, append, fork, some_events


@pytest.fixture
async def streams(store: Store, namespace: str) -> list[Stream]:
    """Streams of 1 to 12 events, one without any, and two forks of one parent."""
    made = [Stream.of(namespace, f"s{number}") for number in range(13)]
    await store.events.append_all([a_request(a_write(each, *some_events(n))) for n, each in enumerate(made) if n])
    forks = [Stream.of(namespace, "fork 1"), Stream.of(namespace, "fork 2")]
    for number, child in enumerate(forks):
        await fork(store, made[12], 5 + number, child, an_event())
    await store.snapshots.save(made[7], Snapshot("session", 1, 3, bytes(32), bytes(32), b"three"))
    await store.snapshots.save(made[7], Snapshot("session", 1, 6, bytes(32), bytes(32), b"six"))
    await store.snapshots.save(made[12], Snapshot("session", 1, 4, bytes(32), bytes(32), b"four"))
    return [*made, *forks]


@pytest.mark.parametrize("tail", [2, 250])
async def test_batched_reads_return_what_single_ones_return(
    store: Store, streams: list[Stream], seed: int, tail: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the same stream is asked for twice, with other bounds."""
    monkeypatch.setattr(batched_reads, "TAIL", tail)
    chance, reads = random.Random(seed), BatchedReads(store)

    async def read(of: Store, stream: Stream, after: int, first: int, last: int) -> tuple[object, ...]:
        return (
            await of.snapshots.load(stream, "session", 1),
            await of.events.read_stream(stream, after=after, limit=5_000),
            await of.events.read_versions(stream, ((first, last), (last + 2, last + 3))),
            await of.events.head(stream),
        )

    wanted = [
        (stream, chance.randrange(12), *sorted((chance.randint(1, 12), chance.randint(1, 12))))
        for stream in chance.choices(streams, k=40)
    ]
    batched = await reads.gather(read(reads.store, *each) for each in wanted)
    assert batched == [await read(store, *each) for each in wanted]


async def test_what_is_read_outside_goes_straight_to_the_store(store: Store, streams: list[Stream]) -> None:
    counting = CountingStore(store)
    reads = BatchedReads(counting)
    await asyncio.gather(*(reads.store.events.read_stream(stream, limit=5_000) for stream in streams[:13]))
    assert counting.calls == ["read_stream"] * 13
    counting.reset()
    await reads.gather(reads.store.events.read_stream(stream, limit=5_000) for stream in streams[:13])
    assert counting.calls == ["read_ranges"]


async def test_a_read_that_fails_fails_for_all_who_asked_and_for_no_later_one(
    store: Store, streams: list[Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = BatchedReads(store)

    async def broken(*_: object, **__: object) -> list[object]:
        raise OSError("the line is down")

    with monkeypatch.context() as patched:
        patched.setattr(store.projections, "read_ranges", broken)
        answers = [reads.store.events.read_stream(stream, limit=5_000) for stream in streams]
        with pytest.raises(OSError, match="line is down"):
            await reads.gather(answers)
    (found,) = await reads.gather([reads.store.events.read_stream(streams[4], limit=5_000)])
    assert len(found) == 4
    await append(store, streams[4], an_event())
    assert len(await reads.store.events.read_stream(streams[4], limit=5_000)) == 5
