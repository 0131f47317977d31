"""Small look-ups of a store: an earlier request, names of streams, sessions by their life."""

from datetime import timedelta
from typing import Any
from uuid import uuid5

import msgspec

from ledger.events import ForkedFrom
from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.ports.session_index import IndexedSession, LifeFilter, LifeStatus, SessionFilter
from tests.conformance.test_caches import DIGEST, START, a_row
from tests.support.store_requests import a_request, a_write, an_event, append, fork, some_events


async def test_a_request_is_found_with_its_hash_and_its_receipts(store: Store, stream: Stream, other: Stream) -> None:
    """Trust R-6."""
    request = a_request(a_write(stream, *some_events(3)), key="k")
    assert request.request_id is not None
    assert await store.events.find_request(stream, request.request_id) is None
    appended = await store.events.append(request)
    await append(store, stream, an_event())
    found = await store.events.find_request(stream, request.request_id)
    assert found is not None
    assert (found.request_hash, found.receipts) == (request.request_hash, appended.receipts)
    assert await store.events.find_request(other, request.request_id) is None
    assert await store.events.find_request(stream, uuid5(stream.stream_id, "another")) is None


async def test_streams_are_named_by_their_ids(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, an_event())
    await append(store, other, an_event())
    unknown = uuid5(stream.stream_id, "unknown")
    assert await store.events.named(stream.namespace_id, [stream.stream_id, unknown, other.stream_id]) == {
        each.stream_id: (each.user_id, each.session_id) for each in (stream, other)
    }


async def test_sessions_are_listed_by_the_life_they_have_at_a_moment(store: Store, namespace: str) -> None:
    """Http W-20: a session expires at the very moment, by the clock alone."""
    names = ("lives", "expires", "ended")
    streams = {name: Stream.of(namespace, name) for name in names}
    for stream in streams.values():
        await append(store, stream, an_event())
    rows = {
        "lives": a_row(streams["lives"]),
        "expires": msgspec.structs.replace(a_row(streams["expires"]), expires_at=START + timedelta(hours=1)),
        "ended": msgspec.structs.replace(a_row(streams["ended"]), status="ended", expires_at=START),
    }
    namespace_id = streams["lives"].namespace_id
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    assert await store.session_index.save(namespace_id, 1, list(rows.values()), after=0, position=3)

    async def listed(status: LifeStatus, minutes: int) -> set[str]:
        life = LifeFilter(status, START + timedelta(minutes=minutes))
        return {
            row.session_id for row in await store.session_index.page(namespace_id, 1, wanted=SessionFilter(life=life))
        }

    assert await listed("live", 59) == {"lives", "expires"}
    assert await listed("expired", 59) == set()
    assert await listed("live", 60) == {"lives"}
    assert await listed("expired", 60) == {"expires"}
    assert await listed("ended", 60) == {"ended"}


async def test_sessions_are_listed_by_a_part_of_their_ids_and_by_time_with_what_they_were_forked_from(
    store: Store, namespace: str
) -> None:
    streams = [Stream.of(namespace, name, "u") for name in ("first-talk", "second-talk", "100%_other")]
    for stream in streams[:2]:
        await append(store, stream, an_event())
    await fork(store, streams[0], 1, streams[2], an_event())
    rows = [
        msgspec.structs.replace(a_row(stream), updated_at=START + timedelta(minutes=number))
        for number, stream in enumerate(streams)
    ]
    namespace_id = streams[0].namespace_id
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(namespace_id, 1, rows, after=0, position=3)

    async def listed(**wanted: Any) -> list[str]:
        page = await store.session_index.page(namespace_id, 1, wanted=SessionFilter(**wanted))
        return [row.session_id for row in page]

    assert await listed(id_part="talk") == ["second-talk", "first-talk"]
    assert await listed(id_part="%_") == ["100%_other"]
    assert await listed(id_part="Talk") == []
    assert await listed(updated_after=START) == ["100%_other", "second-talk"]
    assert await listed(updated_after=START, updated_before=START + timedelta(minutes=2)) == ["second-talk"]
    page = await store.session_index.page(namespace_id, 1)
    assert [row.forked_from for row in page] == [
        ForkedFrom(session_id="first-talk", version=1, user_id="u"),
        None,
        None,
    ]


async def test_sessions_are_listed_by_how_their_ids_and_those_of_their_users_begin(
    store: Store, namespace: str
) -> None:
    """Adapters LF-7: by code point, as written, also where a collation of the database would compare otherwise."""
    names = [
        ("a#1", "app|ann"), ("a#2", "app|bob"), ("A#3", "app|ann"), ("ab", "app2|ann"), ("a%", "App|ann"), ("é#1", ""),
        ("a", "app"), ("a\U0010ffff", "app|"), ("\U0010ffff\U0010ffff", "app|\ud7ff"),
    ]  # fmt: skip
    streams = [Stream.of(namespace, session_id, user_id) for session_id, user_id in names]
    rows = [
        msgspec.structs.replace(a_row(stream), updated_at=START + timedelta(minutes=number))
        for number, stream in enumerate(streams)
    ]
    namespace_id = Stream.of(namespace, "a").namespace_id
    await append(store, Stream.of(namespace, "a"), an_event())
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(namespace_id, 1, rows, after=0, position=1)

    async def listed(**wanted: Any) -> list[tuple[str, str]]:
        page = await store.session_index.page(namespace_id, 1, wanted=SessionFilter(**wanted))
        return [(row.session_id, row.user_id) for row in page]

    prefixes = ["a", "a#", "a%", "é", "e", "A", "\U0010ffff", "\ud7ff", "app|", "app", "app|ann", "app|ann-", "_", "%"]
    for prefix in prefixes:
        assert await listed(id_prefix=prefix) == [pair for pair in names[::-1] if pair[0].startswith(prefix)], prefix
        assert await listed(user_prefix=prefix) == [pair for pair in names[::-1] if pair[1].startswith(prefix)], prefix
    assert await listed(id_prefix="a#", user_id="app|bob") == [("a#2", "app|bob")]
    assert await listed(id_prefix="a#", user_prefix="app|b") == [("a#2", "app|bob")]
    assert await listed(id_prefix="a", id_part="#2") == [("a#2", "app|bob")]
    life = LifeFilter("ended", START)
    assert await listed(id_prefix="a", life=life) == []
    assert await listed(id_prefix="a", updated_before=START + timedelta(minutes=1)) == [("a#1", "app|ann")]


async def test_pages_by_a_prefix_hold_every_session_once(store: Store, namespace: str) -> None:
    streams = [Stream.of(namespace, f"s{number % 2}{number}", "u") for number in range(20)]
    await append(store, streams[0], an_event())
    namespace_id = streams[0].namespace_id
    rows = [
        msgspec.structs.replace(a_row(stream), updated_at=START + timedelta(minutes=number // 8))
        for number, stream in enumerate(streams)
    ]
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    await store.session_index.save(namespace_id, 1, rows, after=0, position=1)
    for wanted, count in ((SessionFilter(id_prefix="s1"), 10), (SessionFilter(user_prefix="u"), 20)):
        whole = await store.session_index.page(namespace_id, 1, wanted=wanted)
        found: list[IndexedSession] = []
        while True:
            after = (found[-1].updated_at, found[-1].stream_id) if found else None
            page = await store.session_index.page(namespace_id, 1, wanted=wanted, after=after, limit=3)
            found += page
            if len(page) < 3:
                break
        assert found == whole
        assert len({row.stream_id for row in whole}) == len(whole) == count


async def test_sessions_are_listed_by_their_runs_and_forks_by_those_before_the_fork(
    store: Store, namespace: str
) -> None:
    """Adapters LF-7."""
    names = ("a", "b", "early", "late", "late-2", "late-early")
    a, b, early, late, late_2, late_early = (Stream.of(namespace, name) for name in names)
    await append(store, a, *some_events(9))
    await append(store, b, an_event())
    await fork(store, a, 3, early, an_event())
    await fork(store, a, 4, late, an_event())
    await fork(store, late, 5, late_2, an_event())
    await fork(store, late, 2, late_early, an_event())
    own: dict[Stream, dict[str, int]] = {a: {"r": 4, "both": 1}, b: {"both": 1, "R": 1}, late: {"own": 5}}
    rows = [
        msgspec.structs.replace(
            a_row(stream), updated_at=START + timedelta(minutes=at), new_runs=tuple(own.get(stream, {}).items())
        )
        for at, stream in enumerate((a, b, early, late, late_2, late_early))
    ]
    namespace_id = a.namespace_id
    await store.projections.begin_build(namespace_id, "session_index", 1, DIGEST)
    assert await store.session_index.save(namespace_id, 1, rows, after=0, position=1) == 1
    again = msgspec.structs.replace(rows[0], new_runs=(("r", 2), ("more", 6)))
    assert await store.session_index.save(namespace_id, 1, [again], after=1, position=2) == 2

    async def listed(run_id: str, **more: Any) -> list[str]:
        page = await store.session_index.page(namespace_id, 1, wanted=SessionFilter(run_id=run_id, **more))
        assert all(row.new_runs == () for row in page)
        return [row.session_id for row in page]

    assert await listed("r") == ["late-2", "late", "a"], "the version that was stored first stays"
    assert await listed("both") == ["late-early", "late-2", "late", "early", "b", "a"]
    assert await listed("own") == ["late-2", "late"]
    assert await listed("more") == ["a"]
    assert await listed("R") == ["b"]
    assert await listed("nobody's") == []
    assert await listed("both", id_prefix="late", id_part="2") == ["late-2"]
    assert await listed("both", user_id="nobody") == []
    pages: list[IndexedSession] = []
    wanted = SessionFilter(run_id="both")
    while True:
        after = (pages[-1].updated_at, pages[-1].stream_id) if pages else None
        page = await store.session_index.page(namespace_id, 1, wanted=wanted, after=after, limit=2)
        pages += page
        if not page:
            break
    assert pages == await store.session_index.page(namespace_id, 1, wanted=wanted)
    streams = [a, b, early, late]
    assert await store.session_index.runs([(namespace_id, 1, stream.stream_id) for stream in streams]) == {
        a.stream_id: {"r": 4, "both": 1, "more": 6},
        b.stream_id: {"both": 1, "R": 1},
        late.stream_id: {"own": 5},
    }
    assert await store.session_index.runs([(namespace_id, 2, a.stream_id)]) == {}
    assert await store.session_index.page(namespace_id, 2, wanted=wanted) == []


async def test_the_runs_of_a_build_are_pruned_with_it(store: Store, stream: Stream) -> None:
    namespace_id = stream.namespace_id
    await append(store, stream, an_event())
    row = msgspec.structs.replace(a_row(stream), new_runs=(("r", 1),))
    for build in (1, 2):
        await store.projections.begin_build(namespace_id, "session_index", build, DIGEST)
        assert await store.session_index.save(namespace_id, build, [row], after=0, position=1) == 1
    await store.projections.go_live(namespace_id, "session_index", 2, replaces=[1])
    assert await store.session_index.prune(namespace_id) == 1
    keys = [[(namespace_id, build, stream.stream_id)] for build in (1, 2)]
    assert [await store.session_index.runs(each) for each in keys] == [{}, {stream.stream_id: {"r": 1}}]
