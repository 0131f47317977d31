"""A process of its own that appends and writes down what it was told; the tests kill it.

Arguments: database URL, namespace, name of its batches, file of acknowledgements, and whether to answer before
the database does.
"""

import asyncio
import os
import sys
from typing import BinaryIO

import msgspec

from ledger.ports import Appended, Appender, AppendRequest, Receipt, with_events
from ledger.stores.postgres import Target
from tests.support.writers_under_load import Writer, opened, streams_of


class AnswersTooEarly:
    """Acknowledges a batch, and stores it a little later: the fault that the tests must catch."""

    def __init__(self, store: Appender) -> None:
        self._store = store
        self._tasks: set[asyncio.Task[Appended]] = set()

    async def append(self, request: AppendRequest) -> Appended:
        """Return invented receipts."""
        self._tasks.add(asyncio.create_task(self._store_later(request)))
        made_up = [
            Receipt(write.stream.stream_id, 0, 0, event.event_id, 0, bytes(32))
            for write in request.writes
            for event in write.events
        ]
        await asyncio.sleep(0.002)
        return Appended(tuple(made_up))

    async def _store_later(self, request: AppendRequest) -> Appended:
        await asyncio.sleep(0.05)
        return await self._store.append(request)


async def work(url: str, namespace: str, name: str, file: BinaryIO, *, early: bool) -> None:
    """Append until killed; acknowledgements are in the kernel's hands, a line each, before the next append."""
    async with opened(Target(url, embedded=True)) as store:
        target = with_events(store, AnswersTooEarly(store.events)) if early else store  # type: ignore[arg-type]

        def keep(answers: Appended) -> None:
            os.write(file.fileno(), msgspec.json.encode(answers.receipts) + b"\n")

        writers = [Writer(target, streams_of(namespace), f"{name}-{number}", keep) for number in range(4)]
        await asyncio.gather(*(writer.run() for writer in writers))


if __name__ == "__main__":
    with open(sys.argv[4], "ab", buffering=0) as acknowledgements:  # noqa: PTH123
        asyncio.run(work(*sys.argv[1:4], acknowledgements, early=sys.argv[5] == "early"))
