"""Group commit: concurrent appends of one process share a transaction, and so one flush to disk.

A single writer does not wait: its append starts at once. Appends that come while a batch is in progress wait for
the next one, so the busier the process, the larger the batches (style §3).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from ledger.errors import LedgerError
from ledger.ports import Appended, AppendRequest

AppendResult = Appended | LedgerError
AppendBatch = Callable[[Sequence[AppendRequest]], Awaitable[list[AppendResult]]]


class GroupCommit:
    """Collects requests and passes them to *append_batch*, one namespace at a time, in order of arrival.

    Up to *flushes* batches are in progress at once: while the database works on one, the next is encoded. Requests for
    one stream are never in two of them, so that they are appended in order of arrival, too.
    """

    def __init__(self, append_batch: AppendBatch, *, max_events: int = 1_000, flushes: int = 2) -> None:
        self._append_batch = append_batch
        self._max_events = max_events
        self._idle = flushes
        self._queue: deque[tuple[AppendRequest, asyncio.Future[AppendResult]]] = deque()
        self._streams: set[int] = set()  # with a batch in progress
        self._working: set[asyncio.Future[None]] = set()

    async def append(self, request: AppendRequest) -> AppendResult:
        """Return the answer to *request* once its batch is durable."""
        if self._idle and not self._queue and (not self._streams or self._streams.isdisjoint(_streams_of(request))):
            return await self._append_alone(request)
        answer: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        self._queue.append((request, answer))
        return await answer

    async def _append_alone(self, request: AppendRequest) -> AppendResult:
        self._idle -= 1
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._working.add(done)
        streams = _streams_of(request)
        self._streams |= streams
        try:
            return (await self._append_batch([request]))[0]
        finally:
            self._streams -= streams
            self._idle += 1
            if self._queue:
                self._start()
            self._working.discard(done)
            done.set_result(None)

    async def drain(self) -> None:
        """Wait until all requests, in progress and queued, are answered."""
        while self._working:
            await asyncio.wait(self._working)

    def _start(self) -> None:
        self._idle -= 1
        task = asyncio.create_task(self._flush())
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _flush(self) -> None:
        try:
            while batch := self._next_batch():
                streams = {write.stream.stream_id.int for request, _ in batch for write in request.writes}
                self._streams |= streams
                try:
                    await self._execute(batch)
                finally:
                    self._streams -= streams
        finally:
            self._idle += 1

    async def _execute(self, batch: list[tuple[AppendRequest, asyncio.Future[AppendResult]]]) -> None:
        try:
            results = await self._append_batch([request for request, _ in batch])
        except BaseException as fault:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(fault) if isinstance(fault, Exception) else answer.cancel()
            if not isinstance(fault, Exception):
                raise
            return
        for (_, answer), result in zip(batch, results, strict=True):
            if not answer.done():
                answer.set_result(result)

    def _next_batch(self) -> list[tuple[AppendRequest, asyncio.Future[AppendResult]]]:
        """Take requests of one namespace from the front until the batch is full.

        It ends before a request whose id repeats, or with a stream that has a batch in progress.
        """
        batch: list[tuple[AppendRequest, asyncio.Future[AppendResult]]] = []
        taken: set[UUID] = set()
        events = 0
        while self._queue:
            request, answer = self._queue[0]
            if answer.done():  # the caller was cancelled while it waited
                self._queue.popleft()
                continue
            size = sum(len(write.events) for write in request.writes)
            if batch and (
                events + size > self._max_events
                or request.writes[0].stream.namespace_id != batch[0][0].writes[0].stream.namespace_id
                or request.request_id in taken
            ):
                break
            if self._streams and not self._streams.isdisjoint(_streams_of(request)):
                break
            self._queue.popleft()
            batch.append((request, answer))
            events += size
            if request.request_id is not None:
                taken.add(request.request_id)
        return batch


def _streams_of(request: AppendRequest) -> set[int]:
    return {write.stream.stream_id.int for write in request.writes}  # numbers hash at once
