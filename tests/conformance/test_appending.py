"""One append: expected versions, receipts, several streams, sizes, names. Source: trust R-1, R-3, R-5, H-20."""

import pytest

from ledger.errors import InvalidInput, StreamNameMismatch, VersionConflict
from ledger.events.chain import ZERO_HASH, event_hash
from ledger.events.ids import Stream, namespace_id
from ledger.ports import Receipt, Store
from tests.support.store_requests import a_request, a_write, an_event, append, ids_in, ids_of, some_events


async def test_a_new_stream_takes_expected_version_0(store: Store, stream: Stream) -> None:
    appended = await append(store, stream, an_event(), expected=0)
    assert [receipt.version for receipt in appended.receipts] == [1]
    assert not appended.replayed


async def test_no_stream_is_refused_on_an_existing_stream(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event())
    with pytest.raises(VersionConflict) as refused:
        await append(store, stream, an_event(), expected=0)
    assert (refused.value.current, refused.value.expected) == (1, 0)
    assert len(await store.events.read_stream(stream)) == 1


async def test_the_exact_version_is_taken(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(3))
    appended = await append(store, stream, an_event(), expected=3)
    assert appended.receipts[0].version == 4


@pytest.mark.parametrize("expected", [0, 1, 3, 4, 2**40])
async def test_any_other_version_is_refused_and_nothing_written(store: Store, stream: Stream, expected: int) -> None:
    await append(store, stream, *some_events(2))
    with pytest.raises(VersionConflict) as refused:
        await append(store, stream, an_event(), expected=expected)
    assert (refused.value.current, refused.value.expected) == (2, expected)
    assert len(await store.events.read_stream(stream)) == 2


async def test_a_stream_without_events_is_at_version_0(store: Store, stream: Stream) -> None:
    with pytest.raises(VersionConflict) as refused:
        await append(store, stream, an_event(), expected=7)
    assert (refused.value.current, refused.value.expected) == (0, 7)
    assert await store.events.head(stream) == (0, ZERO_HASH)
    assert await store.events.namespace(stream.namespace_id) is None


async def test_without_an_expected_version_every_version_will_do(store: Store, stream: Stream) -> None:
    events = some_events(4)
    for event in events:
        await append(store, stream, event)
    assert await ids_in(store, stream) == ids_of(events)


async def test_an_empty_append_writes_nothing(store: Store, stream: Stream) -> None:
    assert (await store.events.append(a_request(a_write(stream)))).receipts == ()
    assert (await store.events.append(a_request(a_write(stream, expected=9)))).receipts == ()
    assert await store.events.append_all([]) == 0
    assert await store.events.head(stream) == (0, ZERO_HASH)


async def test_receipts_name_the_place_of_each_event(store: Store, stream: Stream) -> None:
    appended = await append(store, stream, *some_events(3))
    assert appended.receipts == tuple(
        Receipt(event.stream_id, event.version, event.position, event.event_id, event.recorded_us, event.hash)
        for event in await store.events.read_stream(stream)
    )


async def test_what_is_stored_is_what_was_sent(store: Store, stream: Stream) -> None:
    sent = an_event("¿qué? 記憶 🧠", item_id="item-1", actor="agent:Zoë")
    await append(store, stream, sent)
    (stored,) = await store.events.read_stream(stream)
    for field in sent.__struct_fields__:
        assert getattr(stored, field) == getattr(sent, field), field


async def test_each_event_is_chained_to_the_one_before(store: Store, stream: Stream) -> None:
    await append(store, stream, *some_events(3))
    await append(store, stream, *some_events(2))
    previous = ZERO_HASH
    for event in await store.events.read_stream(stream):
        assert event.hash == event_hash(event, previous)
        previous = event.hash
    assert await store.events.head(stream) == (5, previous)


async def test_one_request_writes_to_many_streams_in_its_order(store: Store, stream: Stream, other: Stream) -> None:
    first, second, third = some_events(3)
    appended = await store.events.append(
        a_request(a_write(other, first), a_write(stream, second), a_write(other, third))
    )
    assert [receipt.event_id for receipt in appended.receipts] == ids_of((first, second, third))
    assert [receipt.version for receipt in appended.receipts] == [1, 1, 2]
    assert [receipt.position for receipt in appended.receipts] == [1, 2, 3]
    log = await store.events.read_namespace(stream.namespace_id)
    assert [event.event_id for event in log] == ids_of((first, second, third))


async def test_one_stale_stream_refuses_the_whole_request(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, other, *some_events(2))
    writes = [a_write(stream, an_event(), expected=0), a_write(other, an_event(), expected=1)]
    for ordered in (writes, writes[::-1]):
        with pytest.raises(VersionConflict) as refused:
            await store.events.append(a_request(*ordered))
        assert (refused.value.current, refused.value.expected) == (2, 1)
    assert await store.events.read_stream(stream) == []
    assert await store.events.head(stream) == (0, ZERO_HASH)
    assert len(await store.events.read_namespace(stream.namespace_id)) == 2


async def test_a_conflict_names_the_first_stale_write(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, *some_events(3))
    await append(store, other, *some_events(7))
    with pytest.raises(VersionConflict) as refused:
        await store.events.append(
            a_request(a_write(stream, an_event(), expected=2), a_write(other, an_event(), expected=5))
        )
    assert (refused.value.current, refused.value.expected) == (3, 2)
    with pytest.raises(VersionConflict) as refused:
        await store.events.append(
            a_request(a_write(stream, an_event(), expected=3), a_write(other, an_event(), expected=5))
        )
    assert (refused.value.current, refused.value.expected) == (7, 5)


async def test_a_write_without_events_only_guards_its_stream(store: Store, stream: Stream, other: Stream) -> None:
    await store.events.append(a_request(a_write(other, expected=0), a_write(stream, an_event())))
    with pytest.raises(VersionConflict):
        await store.events.append(a_request(a_write(other, expected=1), a_write(stream, an_event())))
    await store.events.append(a_request(a_write(other), a_write(stream, an_event())))
    _, heads = await store.events.overview(stream.namespace_id) or pytest.fail("the namespace is unknown")
    assert [head.session_id for head in heads] == [stream.session_id]
    assert [event.version for event in await store.events.read_stream(stream)] == [1, 2]


@pytest.mark.parametrize("count", [1_000, 10_001])
async def test_a_long_request_is_appended_whole(store: Store, stream: Stream, count: int) -> None:
    events = some_events(count)
    appended = await append(store, stream, *events, expected=0)
    assert [receipt.version for receipt in appended.receipts] == list(range(1, count + 1))
    assert await ids_in(store, stream) == ids_of(events)


async def test_one_event_more_than_32_000_is_refused(store: Store, stream: Stream) -> None:
    with pytest.raises(InvalidInput) as refused:
        await append(store, stream, *some_events(32_001))
    assert (refused.value.code, refused.value.limit) == ("batch_size", 32_000)
    assert await store.events.read_stream(stream) == []


async def test_a_stream_id_keeps_the_names_of_its_first_event(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event())
    for user, session in (("user-2", "session-1"), ("user-1", "session-2")):
        forged = Stream(stream.namespace, user, session, stream.namespace_id, stream.stream_id)
        with pytest.raises(StreamNameMismatch):
            await append(store, forged, an_event())
        with pytest.raises(StreamNameMismatch):
            await append(store, forged, an_event(), expected=5)
    assert len(await store.events.read_stream(stream)) == 1


async def test_a_new_stream_has_the_id_of_its_names(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, other, an_event())
    forged = Stream(stream.namespace, "somebody", "else", stream.namespace_id, stream.stream_id)
    for events in (some_events(1), some_events(20)):
        with pytest.raises(StreamNameMismatch):
            await append(store, forged, *events)
    assert await store.events.head(stream) == (0, ZERO_HASH)
    assert len(await store.events.read_namespace(stream.namespace_id)) == 1


async def test_namespaces_do_not_see_each_other(store: Store, stream: Stream) -> None:
    elsewhere = Stream.of(f"{stream.namespace}-2", stream.session_id, stream.user_id)
    await append(store, stream, *some_events(2))
    appended = await append(store, elsewhere, an_event(item_id="i"), expected=0)
    assert appended.receipts[0].position == 1, "each namespace counts from 1"
    borrowed = Stream(stream.namespace, stream.user_id, stream.session_id, stream.namespace_id, elsewhere.stream_id)
    assert await store.events.read_stream(borrowed) == []
    assert await store.events.find_items(borrowed, ["i"]) == {}
    assert await store.events.head(borrowed) == (0, ZERO_HASH)
    assert len(await store.events.read_namespace(stream.namespace_id)) == 2
    assert await store.events.read_namespace(namespace_id("nobody's")) == []


async def test_appends_go_on_after_a_refused_import(store: Store, stream: Stream) -> None:
    """After a rollback the driver drops the statements it had prepared on that connection, and ours with them."""
    for _ in range(3):
        for _ in range(8):
            assert await store.events.append_all([a_request(a_write(stream, an_event()))]) == 1
        with pytest.raises(VersionConflict):
            await store.events.append_all([a_request(a_write(stream, an_event(), expected=99))])
        await store.events.append(a_request(a_write(stream, an_event())))
        with pytest.raises(VersionConflict):
            await store.events.append_all([a_request(a_write(stream, an_event(), expected=99))])
        assert await store.events.append_all([a_request(a_write(stream, an_event()))]) == 1
    assert (await store.events.head(stream))[0] == 30


async def test_requests_that_can_be_read_only_once_are_all_appended(store: Store, stream: Stream) -> None:
    """A first attempt may end before its commit, as in a namespace that is new; what it read must not be gone."""
    assert await store.events.append_all(a_request(a_write(stream, an_event())) for _ in range(3)) == 3
    assert (await store.events.head(stream))[0] == 3
