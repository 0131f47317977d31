"""Whichever call to the store fails, nothing is half-written, and a retry does it once. Source: trust P-11, F-10."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from ledger.ports import Appended, AppendRequest, Store, with_events
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from tests.support.broken_stores import ForgetsRequests
from tests.support.every_call import Failing, FailingAt, check_every_call
from tests.support.failing_store import FailsNthCall
from tests.support.operations import OPERATIONS


def failing(store: Store, *, after: bool, wrapper: type[FailsNthCall] = FailsNthCall) -> FailingAt:
    """Return *store* with calls that fail."""

    @asynccontextmanager
    async def failing_at(n: int) -> AsyncIterator[Failing]:
        wrapped = wrapper(store, n, after=after)
        yield Failing(wrapped, lambda: wrapped.failed)  # type: ignore[arg-type]

    return failing_at


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_that_fails_at_its_nth_call_is_done_once_by_a_retry(
    name: str, after: bool, namespace: str
) -> None:
    store = InMemoryStore()
    assert await check_every_call(OPERATIONS[name], store, failing(store, after=after), namespace) >= 2


class PieceByPiece(EventStoreDecorator):
    """Splits what should stand or fall together into calls of one event."""

    async def append(self, request: AppendRequest) -> Appended:
        pieces = [
            replace(write, events=(event,), expected_version=write.expected_version if at == 0 else None)
            for write in request.writes
            for at, event in enumerate(write.events)
        ]
        answers = [await super(PieceByPiece, self).append(AppendRequest(writes=(piece,))) for piece in pieces]
        return Appended(tuple(receipt for each in answers for receipt in each.receipts))

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        return sum([len((await self.append(request)).receipts) for request in requests])


class WritesPieceByPiece(FailsNthCall):
    """Fails between the pieces of what should stand or fall together."""

    def __init__(self, store: Store, n: int, *, after: bool) -> None:
        super().__init__(store, n, after=after)
        self.events = PieceByPiece(self.events)


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("name", ["batch", "import"])
async def test_a_store_that_writes_piece_by_piece_is_caught(name: str, after: bool, namespace: str) -> None:
    store = InMemoryStore()
    broken = failing(store, after=after, wrapper=WritesPieceByPiece)
    with pytest.raises(AssertionError, match=r"half-written|opened for nothing"):
        await check_every_call(OPERATIONS[name], store, broken, namespace)


@pytest.mark.parametrize("name", ["append", "batch"])
async def test_a_store_that_forgets_requests_is_caught(name: str, namespace: str) -> None:
    sound = InMemoryStore()
    store = with_events(sound, ForgetsRequests(sound.events))
    with pytest.raises(AssertionError, match="done 2 times after a retry"):
        await check_every_call(OPERATIONS[name], store, failing(store, after=True), namespace)
