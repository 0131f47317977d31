"""Forks: a stream that goes on from a version of another one reads as one history. Source: ports, trust H-16, R-3."""

import asyncio
from datetime import timedelta

import pytest

from ledger.errors import VersionConflict, VersionNotFound
from ledger.events import StoredEvent, to_datetime
from ledger.events.chain import event_hash
from ledger.events.ids import Stream
from ledger.ports import Store, StreamWrite
from ledger.ports.snapshot_store import Snapshot
from tests.support.store_requests import a_request, a_write, an_event, append, fork, some_events


async def versions(store: Store, stream: Stream, **bounds: int) -> list[int]:
    return [event.version for event in await store.events.read_stream(stream, **bounds)]


async def texts(store: Store, stream: Stream) -> list[bytes | None]:
    return [event.content for event in await store.events.read_stream(stream)]


def named(stream: Stream, session_id: str) -> Stream:
    return Stream.of(stream.namespace, session_id, stream.user_id)


async def a_fork(store: Store, stream: Stream) -> Stream:
    """Return a fork at version 3 of a stream of five events; each has an event more than that by now."""
    child = named(stream, "fork")
    await append(store, stream, *(an_event(f"parent {number}", item_id=f"item-{number}") for number in range(5)))
    await fork(store, stream, 3, child, an_event("opening", item_id="item-1"))
    await append(store, stream, an_event("later", item_id="item-0"))
    await append(store, child, an_event("own", item_id="own"))
    return child


async def test_the_first_event_of_a_fork_follows_the_one_it_goes_on_from(store: Store, stream: Stream) -> None:
    child = named(stream, "fork")
    await append(store, stream, *some_events(5))
    (receipt,) = (await fork(store, stream, 3, child, an_event())).receipts
    assert (receipt.version, receipt.position) == (4, 6)
    prefix, own = (await store.events.read_stream(stream))[2], (await store.events.read_stream(child))[3]
    assert isinstance(own, StoredEvent)
    assert own.hash == receipt.hash == event_hash(own, prefix.hash)
    assert await store.events.head(child) == (4, receipt.hash)
    assert await store.events.head(stream) == (5, (await store.events.read_stream(stream))[-1].hash)


async def test_a_fork_reads_as_its_parents_history_and_its_own(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    parent, own = await store.events.read_stream(stream), await store.events.read_stream(child)
    assert own[:3] == parent[:3]
    assert {event.stream_id for event in own[3:]} == {child.stream_id}
    assert [event.version for event in own] == [1, 2, 3, 4, 5]
    assert len(parent) == 6
    assert {event.stream_id for event in parent} == {stream.stream_id}


async def test_the_newest_events_reach_across_the_fork_point(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    grandchild = named(stream, "fork of the fork")
    await fork(store, child, 2, grandchild, an_event())
    for of, length in ((child, 5), (grandchild, 3)):
        whole = await store.events.read_stream(of)
        for until in range(length + 1):
            for limit in range(1, length + 2):
                assert await store.events.read_newest(of, limit=limit, until=until) == (until, whole[:until][-limit:])
        assert await store.events.read_newest(of, limit=2) == (length, whole[-2:])
        assert await store.events.read_newest(of, limit=9) == (length, whole)
        assert await store.events.read_newest(of, limit=9, without=["note.made"]) == (length, [])


async def test_bounds_reach_across_the_fork_point(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    assert await versions(store, child, after=1, until=4) == [2, 3, 4]
    assert await versions(store, child, after=2) == [3, 4, 5]
    assert await versions(store, child, after=3) == [4, 5]
    assert await versions(store, child, until=2) == [1, 2]
    assert await versions(store, child, after=1, until=3) == [2, 3]
    assert await versions(store, child, after=1, limit=3) == [2, 3, 4]
    assert await versions(store, child, limit=2) == [1, 2]
    assert await versions(store, child, limit=0) == await versions(store, child, after=5) == []
    found = await store.events.read_versions(child, ((1, 1), (3, 4), (5, 9)))
    assert [event.version for event in found] == [1, 3, 4, 5]
    assert [event.version for event in await store.events.read_versions(child, ((2, 2),))] == [2]
    assert await store.events.read_versions(child, ((6, 9),)) == []


async def test_a_question_asked_first_of_a_fork_reaches_back_too(store: Store, stream: Stream) -> None:
    """Each of another fork: nothing may depend on what was asked before."""
    await append(store, stream, *(an_event(item_id="a") for _ in range(4)))
    moment = to_datetime((await append(store, stream, an_event())).receipts[0].recorded_us)
    forks = [named(stream, f"fork-{number}") for number in range(5)]
    for child in forks:
        await fork(store, stream, 3, child, an_event())
    assert await versions(store, forks[0], until=2) == [1, 2]
    assert len(await store.events.read_versions(forks[1], ((1, 3),))) == 3
    assert await store.events.find_items(forks[2], ["a"]) == {"a": [1, 2, 3]}
    assert await store.events.version_at(forks[3], moment - timedelta(seconds=60)) == 0
    assert await versions(store, forks[4], after=1, limit=1) == [2]


async def test_items_are_found_up_to_the_fork_point_and_in_the_fork(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    wanted = ["item-0", "item-1", "item-3", "own"]
    assert await store.events.find_items(child, wanted) == {"item-0": [1], "item-1": [2, 4], "own": [5]}
    assert await store.events.find_items(stream, wanted) == {"item-0": [1, 6], "item-1": [2], "item-3": [4]}
    assert await store.events.find_items(child, []) == {}


async def test_types_are_found_up_to_the_fork_point_and_in_the_fork(store: Store, stream: Stream) -> None:
    noted, changed = an_event(), an_event(type="data.changed")
    await append(store, stream, changed, noted, an_event(type="data.changed"), an_event(type="data.changed"))
    child, grandchild = named(stream, "fork"), named(stream, "grandchild")
    await fork(store, stream, 3, child, an_event(), an_event(item_id="a"))
    await fork(store, child, 4, grandchild, an_event(type="data.changed"))
    found, newest = store.events.find_types, store.events.find_newest
    assert await found(grandchild, ["data.changed"]) == [1, 3, 5]
    assert await found(grandchild, ["data.changed", "note.made"], after=1, until=4) == [2, 3, 4]
    assert await found(grandchild, ["data.changed", "note.made"], limit=3) == [1, 2, 3]
    assert await found(child, ["note.made"]) == [2, 4, 5]
    assert await found(stream, ["data.changed"]) == [1, 3, 4]
    assert [await newest(grandchild, "data.changed", until=until) for until in (None, 4, 2)] == [5, 3, 1]
    assert [await newest(grandchild, "note.made"), await newest(child, "note.made", until=3)] == [4, 2]


async def test_a_moment_before_the_fork_finds_a_version_of_the_parent(store: Store, stream: Stream) -> None:
    first = await append(store, stream, an_event())
    await asyncio.sleep(0.002)
    second = await append(store, stream, *some_events(2))
    await asyncio.sleep(0.002)
    child = named(stream, "fork")
    started = await fork(store, stream, 2, child, an_event())
    times = [to_datetime(done.receipts[0].recorded_us) for done in (first, second, started)]
    assert [await store.events.version_at(child, moment) for moment in times] == [1, 2, 3]
    assert await store.events.version_at(child, times[0] - timedelta(seconds=1)) == 0
    assert [await store.events.version_at(stream, moment) for moment in times] == [1, 3, 3]


async def test_a_fork_of_a_fork_reaches_back_through_both(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    grandchild, sibling = named(stream, "grandchild"), named(stream, "sibling")
    await fork(store, child, 4, grandchild, an_event("deep"))
    await fork(store, child, 2, sibling, an_event("shallow"))  # at a version that is the first one's
    await append(store, child, an_event("not seen"))
    own, parent = await store.events.read_stream(grandchild), await store.events.read_stream(child)
    assert own[:4] == parent[:4]
    assert [event.version for event in own] == [1, 2, 3, 4, 5]
    assert (await store.events.read_stream(sibling))[:2] == parent[:2]
    assert await versions(store, sibling) == [1, 2, 3]
    assert await store.events.find_items(grandchild, ["item-1", "own"]) == {"item-1": [2, 4]}
    assert await store.events.find_items(sibling, ["item-1", "item-2"]) == {"item-1": [2]}
    assert [head.session_id for head in await store.events.lineage(sibling)] == ["sibling", "fork", stream.session_id]
    assert await store.events.lineage(named(stream, "unknown")) == []


async def test_heads_record_where_streams_were_forked(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    _, heads = await store.events.overview(stream.namespace_id) or pytest.fail("the namespace is unknown")
    found = {head.stream_id: (head.version, head.parent_id, head.parent_version) for head in heads}
    assert found == {child.stream_id: (5, stream.stream_id, 3), stream.stream_id: (6, None, None)}
    assert {head.stream_id: head for head in await store.events.lineage(child)} == {
        head.stream_id: head for head in heads
    }


async def test_a_version_that_is_not_there_cannot_be_forked(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(2))
    child = named(stream, "fork")
    for parent, version in ((stream, 3), (stream, 0), (other, 1), (child, 1)):
        with pytest.raises(VersionNotFound):
            await fork(store, parent, version, child, an_event())
    assert await store.events.head(child) == (0, bytes(32))
    assert len((await store.events.overview(stream.namespace_id) or pytest.fail("the namespace is unknown"))[1]) == 1
    foreign = Stream.of(f"{stream.namespace}-2", "session-1")
    await append(store, foreign, an_event())
    with pytest.raises(VersionNotFound):
        await fork(store, foreign, 1, child, an_event())


async def test_a_fork_onto_a_stream_that_is_there_is_a_conflict(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(3))
    await append(store, other, an_event())
    with pytest.raises(VersionConflict) as refused:
        await fork(store, stream, 2, other, an_event())
    assert (refused.value.current, refused.value.expected) == (1, 0)
    assert await versions(store, other) == [1]


async def test_a_fork_with_a_key_is_carried_out_once(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(3))
    child = named(stream, "fork")

    def asked() -> StreamWrite:
        return StreamWrite(stream=child, events=some_events(2), forked_from=(stream, 2))

    first = await store.events.append(a_request(asked(), key="k"))
    await append(store, child, an_event())
    again = await store.events.append(a_request(asked(), key="k"))
    assert (again.replayed, again.receipts) == (True, first.receipts)
    assert await versions(store, child) == [1, 2, 3, 4, 5]


async def test_of_many_forks_into_one_name_one_wins(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(4, "one"))
    await append(store, other, *some_events(4, "other"))
    child = named(stream, "fork")
    attempts = [((stream, other)[number % 2], 1 + number % 4) for number in range(12)]
    tried = await asyncio.gather(
        *(
            fork(store, parent, version, child, an_event(f"{number}"))
            for number, (parent, version) in enumerate(attempts)
        ),
        *(append(store, child, an_event("any version"), expected=None) for _ in range(2)),
        return_exceptions=True,
    )
    won = [(at, done) for at, done in zip(attempts, tried[:12], strict=True) if not isinstance(done, BaseException)]
    assert all(isinstance(done, VersionConflict) for done in tried[:12] if isinstance(done, BaseException))
    assert len(won) <= 1  # none, if a plain append came first
    for (parent, version), done in won:
        read = await store.events.read_stream(child)
        assert read[:version] == (await store.events.read_stream(parent))[:version]
        assert done.receipts[0].version == version + 1
        assert len(read) == version + 3


async def test_a_fork_stands_or_falls_with_its_request(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(3))
    child = named(stream, "fork")
    forking = StreamWrite(stream=child, events=some_events(1), forked_from=(stream, 2))
    with pytest.raises(VersionConflict):
        await store.events.append(a_request(forking, a_write(other, an_event(), expected=7)))
    assert await versions(store, child) == []
    done = await store.events.append(
        a_request(a_write(other, an_event()), forking, a_write(stream, an_event(), expected=3))
    )
    assert [receipt.version for receipt in done.receipts] == [1, 3, 4]


async def test_append_all_forks_what_it_has_appended_before(store: Store, stream: Stream) -> None:
    child, grandchild = named(stream, "fork"), named(stream, "grandchild")
    requests = [
        a_request(a_write(stream, *some_events(3))),
        a_request(StreamWrite(stream=child, events=some_events(2, "fork"), forked_from=(stream, 2))),
        a_request(a_write(stream, *some_events(1))),
        a_request(StreamWrite(stream=grandchild, events=some_events(2, "deep"), forked_from=(child, 3))),
    ]
    assert await store.events.append_all(requests) == 8
    assert (await texts(store, grandchild))[:3] == (await texts(store, child))[:3]
    assert await versions(store, grandchild) == [1, 2, 3, 4, 5]
    failing = StreamWrite(stream=named(stream, "x"), events=some_events(1), forked_from=(grandchild, 9))
    with pytest.raises(VersionNotFound):
        await store.events.append_all([a_request(a_write(stream, an_event())), a_request(failing)])
    assert await versions(store, stream) == [1, 2, 3, 4]


async def test_snapshots_of_a_parent_serve_its_fork_up_to_the_fork_point(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)

    async def newest(of: Stream, at_most: int | None = None) -> int | None:
        found = await store.snapshots.load(of, "p", 1, at_most=at_most)
        return found and found.version

    assert await newest(child) is None
    for version in (1, 3, 5):
        await store.snapshots.save(stream, Snapshot("p", 1, version, bytes(32), bytes(32), b"{}"))
    assert (await newest(child), await newest(child, 2), await newest(stream)) == (3, 1, 5)
    await store.snapshots.save(child, Snapshot("p", 1, 4, bytes(32), bytes(32), b"{}"))
    assert (await newest(child), await newest(child, 3), await newest(stream, 4)) == (4, 3, 3)
    found, events = await store.snapshots.load_with_events(child, "p", 1, limit=9)
    assert found is not None
    assert events is None, "they are in several streams"


async def test_followers_see_only_what_a_fork_adds(store: Store, stream: Stream) -> None:
    await a_fork(store, stream)
    assert [event.position for event in await store.events.read_namespace(stream.namespace_id)] == list(range(1, 9))


async def test_versions_are_found_up_to_the_fork_point_and_in_the_fork(store: Store, stream: Stream) -> None:
    child = await a_fork(store, stream)
    found = store.events.find_versions
    assert await found(child, after=1, until=99, types=["note.made"]) == [2, 3, 4, 5]
    assert await found(child, after=0, until=3, types=["note.made"]) == [1, 2, 3]
    assert await found(child, after=3, until=99, types=["note.made"]) == [4, 5]


async def test_a_family_is_a_stream_and_the_forks_of_forks(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(3))
    await append(store, other, an_event())
    children = [named(stream, name) for name in ("one", "two")]
    for child in children:
        await fork(store, stream, 2, child, an_event())
    grandchild = named(stream, "three")
    await fork(store, children[0], 3, grandchild, an_event())

    async def found(of: Stream, limit: int = 9) -> list[str]:
        return [head.session_id for head in await store.events.family(of, limit=limit)]

    whole = await found(stream)
    assert (whole[0], whole[-1], sorted(whole[1:3])) == (stream.session_id, "three", ["one", "two"])
    assert await found(children[0]) == ["one", "three"]
    assert await found(stream, limit=2) == whole[:2]
    assert await found(named(stream, "nobody")) == []
    heads = {head.session_id: head for head in await store.events.family(stream, limit=9)}
    assert (heads["three"].parent_id, heads["three"].parent_version) == (children[0].stream_id, 3)
    assert heads["three"].head_hash == (await store.events.head(grandchild))[1]
