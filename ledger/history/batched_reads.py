"""Reads of many sessions at once: what tasks that run together ask for is read in one query for all of them.

    gather ─┬─ the state of one session ──── load, read ──┐
            ├─ the state of another ──────── load, read ──┼── one query for each kind of read
            └─ …                                          ┘

So code that reads one session at a time needs no second form for a page of sessions. Outside of `gather` nothing
changes: every read goes straight to the store. Forks, whose events are in several streams, are read one by one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from ledger.events import Ranges, StoredEvent, UndecodedEvent
from ledger.events.ids import Stream
from ledger.ports import EventStore, Store
from ledger.ports.snapshot_store import NO_OTHERS, Snapshot
from projections.values import ranges

T = TypeVar("T")
R = TypeVar("R")

#: Events of a session that are read together with those of others; only a longer tail is read on by itself. A snapshot
#: is seldom further behind.
TAIL: Final = 250
_NO_END: Final = 2**62


class BatchedReads:
    """Batches the reads of one store; *store* is to be used by those whose reads are to be batched."""

    def __init__(self, store: Store) -> None:
        self.origin = store
        self.store = copy(store)
        self.store.events = cast(EventStore, _Events(self))
        self.store.snapshots = _Snapshots(self)
        self._gathering = 0
        self._waiting: dict[Hashable, list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._reading: dict[asyncio.Task[list[Any]], list[asyncio.Future[Any]]] = {}

    @property
    def is_gathering(self) -> bool:
        """Whether reads are being batched."""
        return self._gathering > 0

    async def gather(self, reads: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
        """Return the results of *reads*, in order; their reads of the store are batched."""
        self._gathering += 1
        try:
            return await asyncio.gather(*reads)
        finally:
            self._gathering -= 1

    async def ask(self, key: Hashable, wanted: T, answer: Callable[[Sequence[T]], Coroutine[Any, Any, list[R]]]) -> R:
        """Return what *answer* returns for *wanted*: it is called once for all that ask under *key* in this turn."""
        found: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if key not in self._waiting:
            self._waiting[key] = []
            asyncio.get_running_loop().call_soon(self._start, key, answer)
        self._waiting[key].append((wanted, found))
        return await found

    def _start(self, key: Hashable, answer: Callable[[Sequence[Any]], Coroutine[Any, Any, list[Any]]]) -> None:
        asked = self._waiting.pop(key)
        everything = [wanted for wanted, _ in asked]
        task = asyncio.create_task(answer(everything))
        self._reading[task] = [found for _, found in asked]
        task.add_done_callback(self._answered)

    def _answered(self, task: "asyncio.Task[list[Any]]") -> None:
        fault = asyncio.CancelledError() if task.cancelled() else task.exception()
        for number, found in enumerate(self._reading.pop(task)):
            if found.done():  # its reader was cancelled
                continue
            if fault is None:
                found.set_result(task.result()[number])
            else:
                found.set_exception(fault)


class _Snapshots:
    def __init__(self, reads: BatchedReads) -> None:
        self._reads = reads
        self._origin = reads.origin

    async def load(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        one = self._origin.snapshots.load
        if at_most is not None or not self._reads.is_gathering:
            return await one(stream, projection, projection_version, at_most=at_most)

        async def answer(streams: Sequence[Stream]) -> list[tuple[bool, Snapshot | None]]:
            ids = [each.stream_id for each in streams]
            found = await self._origin.snapshots.newest(stream.namespace_id, ids, projection, projection_version)
            return [(stream_id in found, found.get(stream_id)) for stream_id in ids]

        key = ("snapshots", stream.namespace_id, projection, projection_version)
        is_known, snapshot = await self._reads.ask(key, stream, answer)
        return snapshot if is_known else await one(stream, projection, projection_version)

    async def newest(
        self, namespace_id: UUID, stream_ids: Sequence[UUID], projection: str, projection_version: int
    ) -> dict[UUID, Snapshot | None]:
        return await self._origin.snapshots.newest(namespace_id, stream_ids, projection, projection_version)

    async def load_with_events(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None, **how: Any
    ) -> tuple[Snapshot | None, Sequence[UndecodedEvent] | None]:
        if at_most is not None or not self._reads.is_gathering:
            one = self._origin.snapshots.load_with_events
            return await one(stream, projection, projection_version, at_most=at_most, **how)
        return await self.load(stream, projection, projection_version), None

    async def save(self, stream: Stream, snapshot: Snapshot, *, since: int = NO_OTHERS) -> None:
        await self._origin.snapshots.save(stream, snapshot, since=since)


class _Events:
    """The event store with the reads of one session batched."""

    def __init__(self, reads: BatchedReads) -> None:
        self._reads = reads
        self._origin = reads.origin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._origin.events, name)

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        one = self._origin.events.read_stream
        if not self._reads.is_gathering or until is not None or limit is None or limit < TAIL:
            return await one(stream, after=after, until=until, limit=limit)
        events = await self._ranges(stream, ((after + 1, _NO_END),), TAIL)
        if events and events[0].version > after + 1:  # the events before it are in a parent
            return await one(stream, after=after, limit=limit)
        if len(events) < TAIL:
            return events
        return events[:TAIL] + await one(stream, after=after + TAIL, limit=limit - TAIL)

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        one = self._origin.events.read_versions
        if not self._reads.is_gathering or not wanted:
            return await one(stream, wanted)
        events = await self._ranges(stream, wanted, _NO_END)
        first = min(first for first, _ in wanted)
        return events if any(event.version == first for event in events) else await one(stream, wanted)

    async def _ranges(self, stream: Stream, wanted: Ranges, each: int) -> list[StoredEvent]:
        async def answer(asked: Sequence[tuple[Stream, Ranges]]) -> list[list[StoredEvent]]:
            places = [(own.stream_id, first, last) for own, wanted in asked for first, last in wanted]
            found: dict[int, dict[int, StoredEvent]] = {}
            for event in await self._origin.projections.read_ranges(stream.namespace_id, places, each=each):
                found.setdefault(event.stream_id.int, {})[event.version] = event
            return [_within(wanted, found.get(own.stream_id.int, {})) for own, wanted in asked]

        return await self._reads.ask(("events", stream.namespace_id, each), (stream, wanted), answer)


def _within(wanted: Ranges, events: Mapping[int, StoredEvent]) -> list[StoredEvent]:
    """Return those of *events* that are *wanted*: another task may have asked for others of the same stream."""
    return [events[version] for version in sorted(events) if ranges.contains(wanted, version)]
