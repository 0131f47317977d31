"""A retry never writes twice. Source: trust P-6, R-6, I-46, I-47."""

import asyncio

import pytest

from ledger.errors import IdempotencyMismatch, VersionConflict
from ledger.events.ids import Stream
from ledger.ports import Store
from tests.support.store_requests import a_request, a_write, an_event, append, ids_in, ids_of, some_events


async def test_a_retried_request_gets_its_first_receipts(store: Store, stream: Stream) -> None:
    first = await store.events.append(a_request(a_write(stream, *some_events(3)), key="k"))
    await append(store, stream, an_event())
    again = await store.events.append(a_request(a_write(stream, *some_events(3)), key="k"))
    assert not first.replayed
    assert again.replayed
    assert again.receipts == first.receipts
    assert len(await store.events.read_stream(stream)) == 4


async def test_a_retry_is_recognised_whatever_version_the_stream_is_at(store: Store, stream: Stream) -> None:
    first = await store.events.append(a_request(a_write(stream, an_event(), expected=0), key="k"))
    again = await store.events.append(a_request(a_write(stream, an_event(), expected=0), key="k"))
    assert again.receipts == first.receipts
    with pytest.raises(VersionConflict):
        await store.events.append(a_request(a_write(stream, an_event(), expected=0), key="another"))


async def test_a_retry_decided_on_another_state_still_gets_the_whole_first_answer(store: Store, stream: Stream) -> None:
    """The first attempt opened the session, the second found it open: one event more, one event less."""
    first = await store.events.append(a_request(a_write(stream, *some_events(3)), key="k"))
    await append(store, stream, *some_events(2))
    fewer = await store.events.append(a_request(a_write(stream, an_event()), key="k"))
    more = await store.events.append(a_request(a_write(stream, *some_events(5)), key="k"))
    assert fewer.receipts == more.receipts == first.receipts


async def test_a_key_used_for_another_request_is_refused(store: Store, stream: Stream) -> None:
    await store.events.append(a_request(a_write(stream, an_event()), key="k", body="one"))
    with pytest.raises(IdempotencyMismatch):
        await store.events.append(a_request(a_write(stream, an_event()), key="k", body="other"))
    assert len(await store.events.read_stream(stream)) == 1


async def test_a_refused_request_leaves_its_key_free(store: Store, stream: Stream) -> None:
    with pytest.raises(VersionConflict):
        await store.events.append(a_request(a_write(stream, an_event(), expected=3), key="k"))
    appended = await store.events.append(a_request(a_write(stream, an_event()), key="k", body="other"))
    assert not appended.replayed


async def test_keys_of_different_streams_are_different_keys(store: Store, stream: Stream, other: Stream) -> None:
    await store.events.append(a_request(a_write(stream, an_event()), key="k"))
    assert not (await store.events.append(a_request(a_write(other, an_event()), key="k"))).replayed


async def test_a_retry_over_several_streams_is_recognised_in_any_order(
    store: Store, stream: Stream, other: Stream
) -> None:
    events = some_events(3)
    writes = [a_write(other, events[0]), a_write(stream, *events[1:])]
    first = await store.events.append(a_request(*writes, key="k"))
    for ordered in (writes, writes[::-1]):
        again = await store.events.append(a_request(*ordered, key="k"))
        assert again.replayed or ids_of(events) == [receipt.event_id for receipt in again.receipts]
        assert again.receipts == first.receipts
    assert len(await store.events.read_namespace(stream.namespace_id)) == 3


async def test_fifty_identical_requests_at_once_are_stored_once(store: Store, stream: Stream) -> None:
    answers = await asyncio.gather(
        *(store.events.append(a_request(a_write(stream, an_event(), an_event()), key="k")) for _ in range(50))
    )
    assert len({answer.receipts for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert await ids_in(store, stream) == [receipt.event_id for receipt in answers[0].receipts]


async def test_of_different_requests_under_one_key_exactly_one_is_stored(store: Store, stream: Stream) -> None:
    answers = await asyncio.gather(
        *(
            store.events.append(a_request(a_write(stream, an_event()), key="k", body=str(number)))
            for number in range(20)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, IdempotencyMismatch) for answer in answers) == 19
    assert len(await store.events.read_stream(stream)) == 1


async def test_many_keys_repeated_at_once_are_each_stored_once(store: Store, stream: Stream, other: Stream) -> None:
    requests = [
        a_request(a_write(target, an_event(f"{target.session_id} {number}")), key=f"key-{number}")
        for number in range(25)
        for target in (stream, other)
        for _ in range(3)
    ]
    answers = await asyncio.gather(*(store.events.append(request) for request in requests))
    assert sum(not answer.replayed for answer in answers) == 50
    assert len(await ids_in(store, stream)) == len(await ids_in(store, other)) == 25
