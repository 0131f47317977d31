"""Small look-ups of a store: an earlier request, names of streams, sessions by their life."""

from datetime import timedelta
from uuid import uuid5

import msgspec

from ledger.ids import Stream
from ledger.ports import Store
from ledger.ports.session_index import LifeFilter, LifeStatus
from tests.conformance.test_caches import DIGEST, START, a_row
from tests.support.store_requests import a_request, a_write, an_event, append, some_events


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
        return {row.session_id for row in await store.session_index.page(namespace_id, 1, life=life)}

    assert await listed("live", 59) == {"lives", "expires"}
    assert await listed("expired", 59) == set()
    assert await listed("live", 60) == {"lives"}
    assert await listed("expired", 60) == {"expires"}
    assert await listed("ended", 60) == {"ended"}
