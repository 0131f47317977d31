"""Appends that are refused if the life of the session changed, also by an append at the same moment."""

import asyncio

from msgspec.structs import replace

from ledger.errors import VersionConflict
from ledger.events import NewEvent, SessionCleared
from ledger.events.ids import Stream
from ledger.ports import Appended, Store
from tests.support.store_requests import a_request, a_write, an_event, append


async def at_once(store: Store, stream: Stream, *events: NewEvent) -> list[Appended | BaseException]:
    """Append an event, and meanwhile each of *events* if the life has not changed since the first version."""
    await append(store, stream, an_event(item_id="first"))
    requests = [a_request(replace(a_write(stream, event), life_after=1)) for event in events]
    first, *rest = await asyncio.gather(
        append(store, stream, an_event(item_id="second")),
        *(store.events.append(request) for request in requests),
        return_exceptions=True,
    )
    assert isinstance(first, Appended)
    return rest


async def test_entries_at_the_same_moment_do_not_refuse_each_other(store: Store, stream: Stream) -> None:
    answers = await at_once(store, stream, *(an_event(item_id=f"item {number}") for number in range(5)))
    assert [answer.receipts[0].version for answer in answers if isinstance(answer, Appended)] == [3, 4, 5, 6, 7]


async def test_an_end_refuses_what_comes_after_it_at_the_same_moment(store: Store, stream: Stream) -> None:
    end = an_event(type=SessionCleared.type)
    answers = await at_once(store, stream, an_event(item_id="before"), end, an_event(item_id="after"))
    assert [type(answer) for answer in answers] == [Appended, Appended, VersionConflict]
