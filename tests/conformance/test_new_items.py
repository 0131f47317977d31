"""Appends that are refused if the stream has an event about one of their items. Source: trust R-3."""

import asyncio

import pytest
from msgspec.structs import replace

from ledger.errors import VersionConflict
from ledger.events import NewEvent
from ledger.events.ids import Stream
from ledger.ports import Appended, Store
from tests.support.store_requests import a_request, a_write, an_event, append, fork, ids_in, ids_of, some_events


async def append_new(
    store: Store, stream: Stream, *events: NewEvent, after: int = 0, key: str | None = None
) -> Appended:
    """Append events about items that must not occur after version *after*."""
    return await store.events.append(a_request(replace(a_write(stream, *events), items_after=after), key=key))


async def test_an_item_that_is_known_is_refused(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event(item_id="a"), an_event(item_id="b"), an_event())
    for events in ([an_event(item_id="b")], [an_event(), an_event(item_id="new"), an_event(item_id="a")]):
        with pytest.raises(VersionConflict) as refused:
            await append_new(store, stream, *events)
        assert (refused.value.current, refused.value.expected) == (3, 0)
    assert len(await store.events.read_stream(stream)) == 3


async def test_a_new_item_is_appended_at_any_version(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, an_event(item_id="a"))
    await append(store, other, an_event(item_id="b"))
    appended = await append_new(store, stream, an_event(item_id="b"), an_event(item_id="c"), an_event())
    assert [receipt.version for receipt in appended.receipts] == [2, 3, 4]
    assert [receipt.version for receipt in (await append_new(store, stream, an_event())).receipts] == [5]


async def test_an_item_up_to_the_given_version_may_occur_again(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event(item_id="a"), an_event(), an_event(item_id="b"))
    await append_new(store, stream, an_event(item_id="a"), after=2)
    with pytest.raises(VersionConflict):
        await append_new(store, stream, an_event(item_id="b"), after=2)


async def test_a_stream_that_does_not_exist_has_no_items(store: Store, stream: Stream) -> None:
    appended = await append_new(store, stream, an_event(item_id="a"), an_event(item_id="a"))
    assert [receipt.version for receipt in appended.receipts] == [1, 2]


async def test_an_item_that_a_fork_shares_is_known(store: Store, stream: Stream, other: Stream) -> None:
    await append(store, stream, an_event(item_id="a"), an_event(item_id="b"), an_event(item_id="c"))
    await fork(store, stream, 2, other, an_event(item_id="d"))
    for known in ("a", "b", "d"):
        with pytest.raises(VersionConflict):
            await append_new(store, other, an_event(item_id=known))
    with pytest.raises(VersionConflict):
        await append_new(store, other, an_event(item_id="b"), after=1)
    await append_new(store, other, an_event(item_id="c"))
    await append_new(store, other, an_event(item_id="a"), after=1)


async def test_a_repeated_request_gets_its_first_answer_although_its_items_are_known(
    store: Store, stream: Stream
) -> None:
    await append(store, stream, an_event())
    for events in ([an_event(item_id="a")], [an_event(item_id="b"), an_event(item_id="c")]):
        key = f"key {len(events)}"
        first = await append_new(store, stream, *events, key=key)
        again = await append_new(store, stream, *events, key=key)
        assert again.receipts == first.receipts
    assert len(await store.events.read_stream(stream)) == 4


async def test_of_writers_of_one_new_item_one_wins_and_the_others_write_nothing(store: Store, stream: Stream) -> None:
    await append(store, stream, an_event())
    for number in range(10):
        events = [some_events(1)[0], *(an_event(item_id=f"item {number}") for _ in range(6))]
        answers = await asyncio.gather(
            append(store, stream, events[0]),
            *(append_new(store, stream, event) for event in events[1:]),
            return_exceptions=True,
        )
        winners = [event for event, answer in zip(events, answers, strict=True) if isinstance(answer, Appended)]
        assert all(isinstance(answer, Appended | VersionConflict) for answer in answers)
        assert len(winners) == 2
        assert set((await ids_in(store, stream))[-2:]) == set(ids_of(tuple(winners)))
