"""Changes of records that wait for the same streams are carried out together, in the order of their arrival.

A lone change starts at once. What comes while others are carried out waits for the next batch, so that a busy process
looks up and appends once for many of them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias
from uuid import UUID

import msgspec

from ledger.events import RecordEvent
from ledger.events.ids import Stream
from ledger.long_term_memory.record_decisions import KnownRecords
from ledger.ports.record_store import RecordLookup

#: Returns the events for the stored records of a stream; called again if another writer was first.
DecideRecords: TypeAlias = Callable[[Stream, KnownRecords], Sequence[RecordEvent]]

#: A batch looks up at most this many ids and identities of records, unless its only change needs more.
_MOST_LOOKED_UP: Final = 200


class RecordChange(msgspec.Struct, frozen=True, eq=False):
    """A change of *streams*, all of one namespace; it decides on the records that *lookup* selects."""

    streams: tuple[Stream, ...]
    lookup: RecordLookup
    decide: DecideRecords
    actor: str


class Decided(msgspec.Struct, frozen=True):
    """The events of a change on one stream."""

    stream: Stream
    events: tuple[RecordEvent, ...]


Outcome: TypeAlias = list[Decided] | Exception
_Waiting: TypeAlias = deque[tuple[RecordChange, asyncio.Future[list[Decided]]]]


class ChangeQueue:
    """Passes changes to *execute*, which gets those of the same streams that wait, and returns their outcomes."""

    def __init__(self, execute: Callable[[Sequence[RecordChange]], Awaitable[Sequence[Outcome]]]) -> None:
        self._execute = execute
        self._waiting: dict[frozenset[UUID], _Waiting] = {}
        self._working: set[asyncio.Task[None]] = set()

    async def put(self, change: RecordChange) -> list[Decided]:
        """Return what *change* decided, once it is stored."""
        key = frozenset(stream.stream_id for stream in change.streams)
        answer: asyncio.Future[list[Decided]] = asyncio.get_running_loop().create_future()
        if key in self._waiting:
            self._waiting[key].append((change, answer))
        else:
            self._waiting[key] = deque([(change, answer)])
            # a task of its own, because a caller that is cancelled must not take the others with it
            task = asyncio.create_task(self._work(key))
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return await answer

    async def _work(self, key: frozenset[UUID]) -> None:
        waiting = self._waiting[key]
        try:
            while batch := _next_batch(waiting):
                await self._answer(batch)
        finally:
            del self._waiting[key]
            for _, answer in waiting:
                answer.cancel()

    async def _answer(self, batch: Sequence[tuple[RecordChange, asyncio.Future[list[Decided]]]]) -> None:
        outcomes: Sequence[Outcome]
        try:
            outcomes = await self._execute([change for change, _ in batch])
        except Exception as fault:  # noqa: BLE001 - told to each caller
            outcomes = [fault] * len(batch)
        except BaseException:
            for _, answer in batch:
                answer.cancel()
            raise
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if answer.done():  # its caller was cancelled
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)


def _next_batch(waiting: _Waiting) -> list[tuple[RecordChange, asyncio.Future[list[Decided]]]]:
    """Take changes from the front until the batch is full, without those whose callers were cancelled."""
    batch: list[tuple[RecordChange, asyncio.Future[list[Decided]]]] = []
    looked_up = 0
    while waiting:
        change, answer = waiting[0]
        wanted = len(change.lookup.record_ids) + len(change.lookup.identities)
        looked_up += wanted
        if batch and looked_up > _MOST_LOOKED_UP:
            break
        waiting.popleft()
        if answer.done():
            looked_up -= wanted
        else:
            batch.append((change, answer))
    return batch
