"""Requests beside each other: neighbours of a refused one, and many in one transaction. Source: trust R-3, E-12."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest

from ledger.errors import IdempotencyMismatch, InvalidInput, LedgerError, StreamNameMismatch, VersionConflict
from ledger.events.ids import Stream
from ledger.ports import Appended, AppendRequest, Store
from tests.support.store_requests import a_request, a_write, an_event, append, ids_in, ids_of, some_events


def refused_requests(stream: Stream) -> list[tuple[AppendRequest, type[LedgerError]]]:
    """Return a request for each way to be refused; *stream* has one event, written under the key ``used``."""
    forged = Stream(stream.namespace, "somebody", "else", stream.namespace_id, stream.stream_id)
    return [
        (a_request(a_write(stream, an_event(), expected=9)), VersionConflict),
        (a_request(a_write(stream, an_event()), key="used", body="other"), IdempotencyMismatch),
        (a_request(a_write(forged, an_event())), StreamNameMismatch),
        (a_request(a_write(stream, *some_events(32_001))), InvalidInput),
    ]


async def test_a_refused_request_never_fails_its_neighbours(store: Store, stream: Stream, other: Stream) -> None:
    await store.events.append(a_request(a_write(stream, an_event()), key="used"))
    for refused, error in refused_requests(stream):
        neighbours = some_events(12)
        requests = [a_request(a_write(other, event)) for event in neighbours]
        requests.insert(6, refused)
        answers = await asyncio.gather(*(store.events.append(request) for request in requests), return_exceptions=True)
        assert isinstance(answers.pop(6), error)
        assert all(isinstance(answer, Appended) for answer in answers), answers
        assert set((await ids_in(store, other))[-12:]) == set(ids_of(neighbours))
    assert len(await store.events.read_stream(stream)) == 1
    assert len(await store.events.read_stream(other)) == 48


async def test_of_requests_for_the_same_version_the_first_wins(store: Store, stream: Stream) -> None:
    events = some_events(20)
    answers = await asyncio.gather(
        *(append(store, stream, event, expected=0) for event in events), return_exceptions=True
    )
    winners = [answer for answer in answers if not isinstance(answer, VersionConflict)]
    assert len(winners) == 1
    assert await ids_in(store, stream) == [winners[0].receipts[0].event_id]
    assert all(answer.current == 1 for answer in answers if isinstance(answer, VersionConflict))


async def test_the_order_of_each_caller_stays(store: Store, stream: Stream) -> None:
    async def caller() -> list[UUID]:
        events = some_events(15)
        for event in events:
            await append(store, stream, event)
        return ids_of(events)

    orders = await asyncio.gather(*(caller() for _ in range(8)))
    stored = await ids_in(store, stream)
    assert [[event_id for event_id in stored if event_id in order] for order in orders] == orders


async def test_append_all_writes_everything_in_order(store: Store, stream: Stream, other: Stream) -> None:
    pages = [some_events(500, f"page {number}") for number in range(5)]
    requests = [
        a_request(a_write(stream, *page, expected=500 * number), a_write(other, an_event()))
        for number, page in enumerate(pages)
    ]
    assert await store.events.append_all(requests) == 2_505
    assert await ids_in(store, stream) == [event_id for page in pages for event_id in ids_of(page)]
    assert len(await store.events.read_stream(other)) == 5


async def test_append_all_writes_nothing_if_its_last_request_is_refused(
    store: Store, stream: Stream, other: Stream
) -> None:
    await append(store, other, an_event())
    requests = [a_request(a_write(stream, *some_events(700))) for _ in range(3)]
    with pytest.raises(VersionConflict) as refused:
        await store.events.append_all([*requests, a_request(a_write(other, an_event(), expected=0))])
    assert (refused.value.current, refused.value.expected) == (1, 0)
    assert await store.events.read_stream(stream) == []
    assert len(await store.events.read_namespace(stream.namespace_id)) == 1
    info = await store.events.namespace(stream.namespace_id)
    assert info is not None
    assert info.last_position == 1


async def test_append_all_takes_what_can_be_iterated_again(store: Store, stream: Stream) -> None:
    class Requests:
        def __iter__(self) -> Iterator[AppendRequest]:
            for number in range(4):
                yield a_request(a_write(stream, *some_events(400, f"page {number}")))
                yield a_request(a_write(stream))

    assert await store.events.append_all(Requests()) == 1_600
    assert [event.version for event in await store.events.read_stream(stream)] == list(range(1, 1_601))


async def test_after_append_all_was_refused_the_store_goes_on(store: Store, stream: Stream) -> None:
    with pytest.raises(VersionConflict):
        await store.events.append_all([a_request(a_write(stream, an_event(), expected=4))])
    appended = await append(store, stream, an_event(), expected=0)
    assert (appended.receipts[0].version, appended.receipts[0].position) == (1, 1)
