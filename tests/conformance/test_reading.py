"""Reading streams and namespaces: bounds, pages, items, heads, moments. Source: ports, trust R-2, R-8."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from ledger.events import to_datetime
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream, namespace_id
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, append, fork, ids_of, some_events

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


async def test_after_excludes_its_bound_and_until_includes_it(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(10))

    async def versions(**bounds: int) -> list[int]:
        return [event.version for event in await store.events.read_stream(stream, **bounds)]

    assert await versions() == list(range(1, 11))
    assert await versions(after=7) == [8, 9, 10]
    assert await versions(until=3) == [1, 2, 3]
    assert await versions(after=3, until=5) == [4, 5]
    assert await versions(after=5, until=5) == []
    assert await versions(after=6, until=2) == []
    assert await versions(after=2, limit=3) == [3, 4, 5]
    assert await versions(after=2, until=4, limit=30) == [3, 4]
    assert await versions(limit=0) == []
    assert await versions(after=10) == await versions(after=99) == []


async def test_the_newest_events_are_read_oldest_first(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(10))

    async def versions(limit: int, until: int | None = None) -> list[int]:
        newest, events = await store.events.read_newest(stream, limit=limit, until=until)
        assert newest == min(10, 10 if until is None else until)
        return [event.version for event in events]

    assert await versions(3) == [8, 9, 10]
    assert await versions(3, until=5) == [3, 4, 5]
    assert await versions(3, until=2) == [1, 2]
    assert await versions(30) == await versions(30, until=30) == list(range(1, 11))
    assert await versions(3, until=0) == []


async def test_an_unknown_stream_reads_as_empty(store: Store, stream: Stream) -> None:
    assert await store.events.read_stream(stream) == []
    assert await store.events.read_versions(stream, ((1, 5),)) == []
    assert await store.events.read_newest(stream, limit=5) == (0, [])
    assert await store.events.read_newest(stream, limit=5, until=3) == (0, [])
    assert await store.events.find_items(stream, ["a"]) == {}
    assert await store.events.find_types(stream, ["note.made"]) == []
    assert await store.events.find_newest(stream, "note.made") == 0
    assert await store.events.version_at(stream, START) == 0
    assert await store.events.namespace(stream.namespace_id) is None
    assert await store.events.overview(stream.namespace_id) is None


async def test_ranges_of_versions_are_read_in_order(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(12))

    async def versions(*ranges: tuple[int, int]) -> list[int]:
        return [event.version for event in await store.events.read_versions(stream, ranges)]

    assert await versions((1, 2), (5, 5), (11, 30)) == [1, 2, 5, 11, 12]
    assert await versions((3, 3)) == [3]
    assert await versions((13, 20)) == []
    assert await versions() == []


async def test_items_are_found_with_all_their_versions(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, an_event(item_id="a"), an_event(item_id="b"), an_event(), an_event(item_id="a"))
    await append(store, other, an_event(item_id="c"))
    assert await store.events.find_items(stream, ["a", "b", "c", "nobody"]) == {"a": [1, 4], "b": [2]}
    assert await store.events.find_items(stream, []) == {}
    assert await store.events.find_items(other, ["a", "c"]) == {"c": [1]}


async def test_many_items_are_found_in_one_query(store: Store, stream: Stream) -> None:
    await append(store, stream, *(an_event(item_id=f"item-{number}") for number in range(1_000)))
    found = await store.events.find_items(stream, [f"item-{number}" for number in range(1_000)])
    assert found == {f"item-{number}": [number + 1] for number in range(1_000)}


async def test_events_are_found_by_their_types_with_and_without_an_item(
    store: Store, stream: Stream, other: Stream
) -> None:
    kinds = ["session.opened", "entry.added", "data.changed", "note.made", "entry.added", "data.changed", "note.made"]
    items = [None, "a", None, "b", "c", None, None]
    await append(store, stream, *(an_event(type=kind, item_id=item) for kind, item in zip(kinds, items, strict=True)))
    await append(store, other, an_event(type="data.changed"))

    async def found(*types: str, **bounds: int) -> list[int]:
        return await store.events.find_types(stream, types, **bounds)

    assert await found("data.changed") == [3, 6]
    assert await found("entry.added", "session.opened") == [1, 2, 5]
    assert await found("note.made") == [4, 7]
    assert await found("note.made", "data.changed", "note.made") == [3, 4, 6, 7]
    assert await found("note.made", "data.changed", after=3, until=6) == [4, 6]
    assert await found("note.made", "data.changed", limit=3) == [3, 4, 6]
    assert await found("data.changed", after=3, limit=1) == [6]
    assert await found("data.changed", limit=0) == await found("unheard.of") == await found() == []


async def test_the_newest_event_of_a_type_is_found_up_to_a_version(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event(), an_event(type="data.changed"), an_event(), an_event(item_id="a"))
    newest = store.events.find_newest
    assert [await newest(stream, "note.made", until=until) for until in (None, 9, 4, 3, 2, 0)] == [3, 3, 3, 3, 1, 0]
    assert [await newest(stream, "data.changed", until=until) for until in (None, 2, 1)] == [2, 2, 0]
    assert await newest(stream, "unheard.of") == 0


async def test_the_head_follows_the_stream(store: Store, stream: Stream) -> None:
    for version in range(1, 4):
        appended = await append(store, stream, an_event())
        assert await store.events.head(stream) == (version, appended.receipts[0].hash)


async def test_a_namespace_is_read_in_pages_by_position(store: Store, stream: Stream, other: Stream) -> None:
    events = some_events(25)
    for number, event in enumerate(events):
        await append(store, (stream, other)[number % 2], event)
    seen, after = [], 0
    while page := await store.events.read_namespace(stream.namespace_id, after=after, limit=10):
        assert [event.position for event in page] == list(range(after + 1, after + len(page) + 1))
        seen += [event.event_id for event in page]
        after = page[-1].position
    assert seen == ids_of(events)


async def test_a_page_ends_with_the_event_that_brings_it_to_a_size(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(6))
    sizes = [event.size_b for event in await store.events.read_namespace(stream.namespace_id)]

    async def page(most_bytes: int) -> list[int]:
        found = await store.events.read_namespace(stream.namespace_id, after=1, most_bytes=most_bytes)
        return [event.position for event in found]

    assert await page(1) == [2]
    assert await page(sizes[1]) == [2]
    assert await page(sizes[1] + 1) == [2, 3]
    assert await page(sum(sizes)) == [2, 3, 4, 5, 6]


async def test_a_page_of_a_stream_ends_so_too_also_across_a_fork(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(4))
    await fork(store, stream, 3, other, *some_events(3))
    sizes = [event.size_b for event in await store.events.read_stream(other)]
    assert len(sizes) == 6

    async def page(after: int, most_bytes: int, limit: int = 10, until: int = 6) -> list[int]:
        found = await store.events.read_page(other, after=after, until=until, limit=limit, most_bytes=most_bytes)
        return [event.version for event in found]

    assert await page(0, 1) == [1]
    assert await page(1, sizes[1] + 1) == [2, 3]
    assert await page(1, sum(sizes[1:4])) == [2, 3, 4]
    assert await page(1, sum(sizes)) == [2, 3, 4, 5, 6]
    assert await page(1, sum(sizes), limit=3) == [2, 3, 4]
    assert await page(1, sum(sizes), until=3) == [2, 3]
    assert await page(4, 1) == [5]
    assert await page(6, sum(sizes), until=9) == []


async def test_the_overview_has_the_counter_and_every_head(store: Store, stream: Stream, other: Stream) -> None:
    await store.events.append(a_request(a_write(stream, *some_events(3)), a_write(other, *some_events(2))))
    info, heads = await store.events.overview(stream.namespace_id) or pytest.fail("the namespace is unknown")
    assert info == await store.events.namespace(stream.namespace_id)
    assert (info.namespace, info.last_position) == (stream.namespace, 5)
    assert [head.stream_id for head in heads] == sorted([stream.stream_id, other.stream_id])
    for head in heads:
        known = stream if head.stream_id == stream.stream_id else other
        assert (head.user_id, head.session_id) == (known.user_id, known.session_id)
        assert (head.version, head.head_hash) == await store.events.head(known)


async def test_the_identity_of_a_ledger_does_not_change(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event())
    first = await store.events.namespace(stream.namespace_id)
    await append(store, stream, an_event())
    second = await store.events.namespace(stream.namespace_id)
    assert first is not None
    assert second is not None
    assert first.ledger_id == second.ledger_id


async def test_a_moment_finds_the_newest_version_recorded_by_then(store: Store, stream: Stream) -> None:
    before = await append(store, stream, *some_events(2))
    after = await append(store, stream, an_event())
    moment = to_datetime(before.receipts[-1].recorded_us)
    last = to_datetime(after.receipts[-1].recorded_us)
    assert await store.events.version_at(stream, moment - timedelta(seconds=1)) == 0
    assert await store.events.version_at(stream, last) == 3
    assert await store.events.version_at(stream, last + timedelta(days=9_000)) == 3
    assert await store.events.version_at(stream, moment) in {2, 3}


#: Seconds at which the clock stood when each version was recorded; it goes back twice.
BACKWARDS = (10, 20, 5, 6, 30, 29)
#: Second asked for → version: what is recorded later cannot have been there earlier.
AS_OF = {4: 0, 5: 3, 6: 4, 9: 4, 10: 4, 20: 4, 28: 4, 29: 6, 30: 6, 99: 6}


class SteppingClock(SystemClock):
    """A clock that shows given times, one after the other."""

    def __init__(self, seconds: Iterator[int]) -> None:
        self._seconds = seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=next(self._seconds))


async def check_as_of(store: Store, stream: Stream) -> None:
    found = {second: await store.events.version_at(stream, START + timedelta(seconds=second)) for second in AS_OF}
    assert found == AS_OF


async def test_a_clock_that_goes_backwards_changes_no_order_in_memory(stream: Stream) -> None:
    """Trust I-84."""
    store = InMemoryStore(SteppingClock(iter(BACKWARDS)))
    for event in some_events(len(BACKWARDS)):
        await append(store, stream, event)
    await check_as_of(store, stream)


@pytest.mark.postgres
async def test_a_clock_that_goes_backwards_changes_no_order_on_postgres(
    server: Server, fresh_database: str, stream: Stream
) -> None:
    """Trust I-84."""
    store = await PostgresStore.open(server.target(fresh_database))
    await append(store, stream, *some_events(len(BACKWARDS)))
    with server.superuser(fresh_database) as mighty:
        mighty.execute("ALTER TABLE ledger.events DISABLE TRIGGER ALL")
        for version, second in enumerate(BACKWARDS, start=1):
            moment = START + timedelta(seconds=second)
            mighty.execute("UPDATE ledger.events SET recorded_at = %s WHERE version = %s", (moment, version))
    await check_as_of(store, stream)
    await store.close()


async def test_a_namespace_nobody_wrote_to_has_no_pages(store: Store) -> None:
    assert await store.events.read_namespace(namespace_id("never written"), after=0, limit=5) == []


async def test_versions_are_found_by_type_and_actor_within_bounds(store: Store, stream: Stream) -> None:
    assert await store.events.find_versions(stream, after=0, until=9, types=["note.made"]) == []
    await append(
        store,
        stream,
        *some_events(2),
        an_event(type="data.changed"),
        msgspec.structs.replace(an_event(), actor="alice"),
        msgspec.structs.replace(an_event(type="data.changed"), actor="alice"),
    )

    async def found(after: int = 0, until: int = 99, **wanted: Any) -> list[int]:
        return await store.events.find_versions(stream, after=after, until=until, **wanted)

    assert await found() == [1, 2, 3, 4, 5]
    assert await found(1, 4) == [2, 3, 4]
    assert await found(types=["data.changed"]) == [3, 5]
    assert await found(types=["data.changed", "note.made"], until=3) == [1, 2, 3]
    assert await found(actor="alice") == [4, 5]
    assert await found(actor="alice", types=["note.made"]) == [4]
    assert await found(types=[]) == await found(actor="nobody") == []
