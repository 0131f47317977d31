"""What is kept beside the log: snapshots, the session index, and the builds of projections. Source: style §4."""

import asyncio
from datetime import datetime, timedelta

from ledger.events import UndecodedEvent
from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.ports.projection_store import FoldedPage, NamedEvent
from ledger.ports.session_index import IndexedSession, SessionFilter
from ledger.ports.snapshot_store import Snapshot
from tests.support.store_requests import an_event, append, fork, some_events

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
DIGEST = bytes(range(32))


def a_snapshot(version: int, state: bytes = b"state", *, projection: str = "session", of: int = 1) -> Snapshot:
    return Snapshot(projection, of, version, DIGEST, DIGEST, state)


async def test_the_newest_snapshot_at_or_before_a_version_is_loaded(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(30))
    for version in (10, 30, 20):
        await store.snapshots.save(stream, a_snapshot(version, b"at %d" % version))

    async def loaded(at_most: int | None = None) -> Snapshot | None:
        return await store.snapshots.load(stream, "session", 1, at_most=at_most)

    assert await loaded() == a_snapshot(30, b"at 30")
    assert await loaded(29) == a_snapshot(20, b"at 20")
    assert await loaded(20) == a_snapshot(20, b"at 20")
    assert await loaded(9) is None


async def test_a_snapshot_takes_the_place_of_one_at_its_version(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event())
    await store.snapshots.save(stream, a_snapshot(1, b"old"))
    await store.snapshots.save(stream, a_snapshot(1, b"new \x00\xff"))
    assert await store.snapshots.load(stream, "session", 1) == a_snapshot(1, b"new \x00\xff")


async def test_a_snapshot_takes_the_place_of_those_shortly_before_it(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(9))
    for version in (2, 4, 5, 8):
        await store.snapshots.save(stream, a_snapshot(version))
    await store.snapshots.save(stream, a_snapshot(7), since=4)
    found = [await store.snapshots.load(stream, "session", 1, at_most=version) for version in range(1, 10)]
    assert [each and each.version for each in found] == [None, 2, 2, 2, 2, 2, 7, 8, 8]


async def test_a_snapshot_is_loaded_with_the_events_around_it(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(30))
    await append(store, other, an_event())
    all_events = await store.events.read_stream(stream)

    async def loaded(**bounds: int) -> tuple[int, list[int]]:
        snapshot, events = await store.snapshots.load_with_events(stream, "session", 1, **{"limit": 99, **bounds})
        assert events is not None
        assert all(event == UndecodedEvent.of(all_events[event.version - 1]) for event in events)
        return snapshot.version if snapshot else 0, [event.version for event in events]

    assert await loaded() == (0, [*range(1, 31)])
    assert await loaded(limit=3, before=5) == (0, [1, 2, 3])
    for version in (10, 20):
        await store.snapshots.save(stream, a_snapshot(version))
    assert await loaded() == (20, [*range(21, 31)])
    assert await loaded(before=4) == (20, [*range(17, 31)])
    assert await loaded(before=4, limit=6) == (20, [*range(17, 23)])
    assert await loaded(before=40, at_most=12) == (10, [*range(1, 13)])
    assert await loaded(at_most=10, limit=0) == (10, [])
    absent = await store.snapshots.load_with_events(Stream.of(stream.namespace, "unknown"), "session", 1, limit=9)
    assert absent == (None, [])


async def test_snapshots_belong_to_one_stream_one_projection_and_one_version_of_it(
    store: Store, stream: Stream, other: Stream
) -> None:
    await append(store, stream, an_event())
    await append(store, other, an_event())
    await store.snapshots.save(stream, a_snapshot(1))
    assert await store.snapshots.load(other, "session", 1) is None
    assert await store.snapshots.load(stream, "timeline", 1) is None
    assert await store.snapshots.load(stream, "session", 2) is None


def a_row(stream: Stream, *, minutes: int = 0, version: int = 1, entries: int = 1) -> IndexedSession:
    return IndexedSession(
        stream_id=stream.stream_id,
        user_id=stream.user_id,
        session_id=stream.session_id,
        version=version,
        status="live",
        created_at=START,
        updated_at=START + timedelta(minutes=minutes),
        entries=entries,
        active=entries,
        summaries=0,
        total_tokens=7,
        active_tokens=5,
    )


async def test_rows_are_found_by_their_streams(store: Store, stream: Stream, other: Stream) -> None:
    namespace_id = stream.namespace_id
    assert await store.session_index.rows([(namespace_id, 1, stream.stream_id)]) == {}
    await append(store, stream, *some_events(2))
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(namespace_id, 1, [a_row(stream)], after=0, position=2)
    first, second = ([(namespace_id, build, each.stream_id) for each in (stream, other)] for build in (1, 2))
    assert await store.session_index.rows(first) == {stream.stream_id: a_row(stream)}
    assert await store.session_index.rows(second) == {}


async def test_one_at_a_time_claims_a_build_until_the_claim_is_over(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event())

    async def claim(by: str, lease_s: float, build: int = 1, after: int = 0) -> bool:
        of_build = stream.namespace_id, "session_index", build
        return await store.projections.claim(*of_build, after=after, by=by, lease_s=lease_s)

    assert not await claim("one", 30), "there is no build"
    await store.projections.begin_build(stream.namespace_id, "session_index", 1, DIGEST)
    assert await claim("one", 30)
    assert await claim("one", 30), "whoever has it may go on"
    assert not await claim("two", 30)
    assert await claim("one", 0), "it is given up"
    assert await claim("two", 0.2)
    await asyncio.sleep(0.3)
    assert await claim("one", 30), "whoever had it was killed"
    assert not await claim("one", 30, after=1), "the build is elsewhere"
    await store.session_index.save(stream.namespace_id, 1, [], after=0, position=1)
    assert not await claim("one", 30), "the page is stored"
    assert await claim("two", 30, after=1), "a claim ends with its page"


async def test_what_many_streams_have_is_read_at_once(store: Store, stream: Stream, other: Stream) -> None:
    """A fork is left to the reads of one stream, which know its parents."""
    namespace_id, child = stream.namespace_id, Stream.of(stream.namespace, "child")
    await append(store, stream, *some_events(5))
    await append(store, other, *some_events(3))
    await fork(store, stream, 4, child, an_event())
    for version in (1, 3):
        await store.snapshots.save(stream, a_snapshot(version, b"at %d" % version))
    ids = [stream.stream_id, other.stream_id, child.stream_id]
    newest = await store.snapshots.newest(namespace_id, ids, "session", 1)
    assert newest == {stream.stream_id: a_snapshot(3, b"at 3"), other.stream_id: None}
    ranges = [(other.stream_id, 2, 9), (stream.stream_id, 1, 2), (stream.stream_id, 5, 5), (child.stream_id, 1, 9)]
    found = await store.projections.read_ranges(namespace_id, ranges, each=9)
    places = [(event.stream_id, event.version) for event in found]
    assert places == [
        (other.stream_id, 2),
        (other.stream_id, 3),
        (stream.stream_id, 1),
        (stream.stream_id, 2),
        (stream.stream_id, 5),
        (child.stream_id, 5),
    ]
    assert await store.projections.read_ranges(namespace_id, [], each=9) == []


async def test_rows_are_listed_newest_first_in_pages(store: Store, namespace: str) -> None:
    streams = [Stream.of(namespace, f"session-{number}", f"user-{number % 2}") for number in range(9)]
    for stream in streams:
        await append(store, stream, an_event())
    namespace_id = streams[0].namespace_id
    rows = [a_row(stream, minutes=number // 3) for number, stream in enumerate(streams)]
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(namespace_id, 1, rows, after=0, position=9)
    expected = sorted(rows, key=lambda row: (START - row.updated_at, row.stream_id))
    assert await store.session_index.page(namespace_id, 1) == expected
    pages: list[IndexedSession] = []
    after = None
    while page := await store.session_index.page(namespace_id, 1, after=after, limit=2):
        pages += page
        after = (page[-1].updated_at, page[-1].stream_id)
    assert pages == expected
    mine = await store.session_index.page(namespace_id, 1, wanted=SessionFilter(user_id="user-1"))
    assert mine == [row for row in expected if row.user_id == "user-1"]
    assert await store.session_index.page(namespace_id, 2) == []


async def test_an_older_row_never_replaces_a_newer_one(store: Store, stream: Stream) -> None:
    """Two readers catch up at once; the slower one folded less."""
    await append(store, stream, *some_events(5))
    newer = a_row(stream, version=5, entries=5)
    await store.projections.begin_build(stream.namespace_id, "session_index", 1, DIGEST)
    older = [a_row(stream, version=3, entries=3)]
    assert await store.session_index.save(stream.namespace_id, 1, [newer], after=0, position=4) == 4
    assert await store.session_index.save(stream.namespace_id, 1, older, after=0, position=3) == 4, "too late"
    assert await store.session_index.page(stream.namespace_id, 1) == [newer]
    assert await store.session_index.save(stream.namespace_id, 1, older, after=4, position=5) == 5
    assert await store.session_index.page(stream.namespace_id, 1) == [newer]
    assert await builds(store, stream) == [(1, 5, "building")]


async def builds(store: Store, stream: Stream) -> list[tuple[int, int, str]]:
    _, found = await store.projections.progress(stream.namespace_id)
    return [(result.build, result.position, result.status) for result in found]


async def test_a_build_begins_moves_on_and_goes_live_in_place_of_another(store: Store, stream: Stream) -> None:
    namespace_id = stream.namespace_id
    assert await store.projections.progress(namespace_id) == (0, [])
    await append(store, stream, *some_events(4))
    assert await store.projections.progress(namespace_id) == (4, [])
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(namespace_id, 1, [], after=0, position=2)
    await store.projections.begin_build(namespace_id, "session_index", 1, bytes(32))
    assert await builds(store, stream) == [(1, 2, "building")], "started once"
    assert (await store.projections.progress(namespace_id))[1][0].code_digest == DIGEST
    await store.projections.go_live(namespace_id, "session_index", 1)
    await store.projections.begin_build(namespace_id, "session_index", 2, DIGEST)
    assert await builds(store, stream) == [(1, 2, "live"), (2, 0, "building")]
    await store.projections.go_live(namespace_id, "session_index", 2, replaces=[1])
    assert await builds(store, stream) == [(2, 0, "live")]
    await store.projections.go_live(namespace_id, "session_index", 1, replaces=[2])
    assert await builds(store, stream) == [(2, 0, "live")], "what is no build any more replaces none"


async def test_a_build_that_was_replaced_takes_no_rows_and_loses_those_it_has(store: Store, stream: Stream) -> None:
    namespace_id = stream.namespace_id
    await append(store, stream, an_event())
    for build in (1, 2):
        await store.projections.begin_build(namespace_id, "session_index", build, DIGEST)
        assert await store.session_index.save(namespace_id, build, [a_row(stream)], after=0, position=1) == 1
    assert await store.session_index.save(namespace_id, 3, [a_row(stream)], after=0, position=1) is None
    await store.projections.go_live(namespace_id, "session_index", 2, replaces=[1])
    assert await store.session_index.save(namespace_id, 1, [a_row(stream)], after=1, position=1) is None
    assert await store.session_index.page(namespace_id, 1) == [a_row(stream)], "whoever reads it now may finish"
    assert await store.session_index.prune(namespace_id) == 1
    assert await store.session_index.page(namespace_id, 1) == []
    assert await store.session_index.page(namespace_id, 2) == [a_row(stream)]


async def test_pages_of_several_namespaces_are_read_and_saved_together(store: Store, namespace: str) -> None:
    streams = [Stream.of(f"{namespace}-{number}", "/records" if number == 2 else "s", "u") for number in range(4)]
    for number, stream in enumerate(streams[:3]):
        await append(store, stream, *some_events(number + 1))
    after = {stream.namespace_id: number // 2 for number, stream in enumerate(streams)}
    pages = await store.projections.read_namespaces(after, limit=2, most_bytes=2**62)
    logs = {stream.namespace_id: await store.events.read_namespace(stream.namespace_id) for stream in streams}
    assert pages == {
        each: [NamedEvent("u", stream.session_id, event) for event in log[after[each] :][:2]]
        for stream in streams
        if (log := logs[each := stream.namespace_id])
    }
    first = await store.projections.read_namespaces(after, limit=2, most_bytes=1)
    assert [len(events) for events in first.values()] == [1], "an event, if there is one"
    records = await store.records.read_events(after, limit=2)
    assert {each: (page.position, len(page.events)) for each, page in records.items()} == {
        stream.namespace_id: reached for stream, reached in zip(streams, [(1, 0), (2, 0), (3, 2), (1, 0)], strict=True)
    }
    await store.projections.begin_build(streams[1].namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(streams[1].namespace_id, 1, [], after=0, position=2)
    saved = [FoldedPage(stream.namespace_id, 1, 0, 1, [a_row(stream)]) for stream in streams[:2]]
    reached = await store.session_index.save_all(saved, begin_as=DIGEST)
    assert reached == {streams[0].namespace_id: 1, streams[1].namespace_id: 2}, "the second was elsewhere"
    assert await builds(store, streams[0]) == [(1, 1, "live")], "it had no build"
    assert await builds(store, streams[1]) == [(1, 2, "building")]
    other = FoldedPage(streams[0].namespace_id, 2, 0, 1, [a_row(streams[0])])
    assert await store.session_index.save_all([other], begin_as=DIGEST) == {streams[0].namespace_id: None}
    live = dict.fromkeys((stream.namespace_id for stream in streams), 1)
    found = await store.session_index.page_of_live(live, user_id="u", moment=START, limit=9)
    assert found == (1, [a_row(streams[0])])
    assert await store.session_index.page_of_live(live, user_id="v", moment=START, limit=9) == (0, [])
