"""Check a log against itself, against its writers' receipts, and against what its readers saw."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from uuid import UUID

from ledger.events import StoredEvent
from ledger.events.ids import Stream, namespace_id
from ledger.ports import Receipt, Store
from ledger.verification import verify_namespace


async def whole_log(store: Store, namespace: str, *, page: int = 1_000) -> list[StoredEvent]:
    """Return every event of a namespace, in position order."""
    log: list[StoredEvent] = []
    while found := await store.events.read_namespace(
        namespace_id(namespace), after=log[-1].position if log else 0, limit=page
    ):
        log += found
    return log


async def assert_whole(store: Store, namespace: str, receipts: Iterable[Receipt]) -> list[StoredEvent]:
    """Assert that the log has no gap and no repetition, and holds what was acknowledged; return it.

    Source: trust P-4, R-2.
    """
    log = await whole_log(store, namespace)
    assert [event.position for event in log] == list(range(1, len(log) + 1)), "positions have a gap"
    versions: dict[UUID, list[int]] = defaultdict(list)
    for event in log:
        versions[event.stream_id].append(event.version)
    for stream_id, found in versions.items():
        assert found == list(range(1, len(found) + 1)), f"versions of {stream_id} have a gap"
    occurrences = Counter(event.event_id for event in log)
    assert set(occurrences.values()) <= {1}, "an event is stored twice"
    by_id = {event.event_id: event for event in log}
    for receipt in receipts:
        assert receipt.event_id in by_id, f"an acknowledged event is lost: {receipt}"
        event = by_id[receipt.event_id]
        place = (event.stream_id, event.version, event.position, event.hash)
        assert place == (receipt.stream_id, receipt.version, receipt.position, receipt.hash), "a receipt is wrong"
    report = await verify_namespace(store, namespace)
    assert report.ok, report.findings
    assert report.checked == len(log)
    info = await store.events.namespace(namespace_id(namespace))
    assert (info.last_position if info else 0) == len(log)
    return log


class PrefixReader:
    """Reads streams again and again; everything it ever saw must be a prefix of what they end as (trust P-4)."""

    def __init__(self, store: Store, streams: Iterable[Stream]) -> None:
        self._store = store
        self._streams = list(streams)
        self._seen: dict[UUID, list[list[UUID]]] = defaultdict(list)
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            for stream in self._streams:
                events = await self._store.events.read_stream(stream)
                self._seen[stream.stream_id].append([event.event_id for event in events])
                await asyncio.sleep(0)

    async def finish(self) -> int:
        """Stop, check, and return how many reads saw something."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        for stream in self._streams:
            final = [event.event_id for event in await self._store.events.read_stream(stream)]
            for seen in self._seen[stream.stream_id]:
                assert seen == final[: len(seen)], "a read was no prefix of the stream"
        return sum(bool(seen) for reads in self._seen.values() for seen in reads)
