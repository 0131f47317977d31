"""Event stores with one fault each, which the suite must reject. Source: style "Tests", trust §1 (negative controls).

Each does what the store in memory does but for what its docstring says; where the fault is a race, the gap in which
another writer slips through is an ``await``.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from ledger.errors import VersionConflict
from ledger.events import StoredEvent
from ledger.events.ids import Stream
from ledger.ports import Appended, AppendRequest, EventStore, NamespaceInfo, Receipt
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.postgres.group_commit import GroupCommit


class LooksUpOutsideTheLock(EventStoreDecorator):
    """Checks whether a request was executed before, and only then waits for its turn."""

    def __init__(self, events: EventStore) -> None:
        super().__init__(events)
        self._answers: dict[UUID | None, Appended] = {}

    async def append(self, request: AppendRequest) -> Appended:
        earlier = self._answers.get(request.request_id) if request.request_id else None
        await asyncio.sleep(0)
        if earlier is not None:
            return replace(earlier, replayed=True)
        self._answers[request.request_id] = await super().append(replace(request, request_id=None))
        return self._answers[request.request_id]


class ForgetsRequests(EventStoreDecorator):
    """Treats a retry as a new request."""

    async def append(self, request: AppendRequest) -> Appended:
        return await super().append(replace(request, request_id=None, request_hash=None))


class AnswersRetriesAnew(EventStoreDecorator):
    """Recognises a retry, but answers with its events' new ids."""

    async def append(self, request: AppendRequest) -> Appended:
        appended = await super().append(request)
        events = (event for write in request.writes for event in write.events)
        renewed = tuple(
            replace(receipt, event_id=event.event_id) for receipt, event in zip(appended.receipts, events, strict=False)
        )
        return replace(appended, receipts=renewed)


class HasNoStreamLock(EventStoreDecorator):
    """Checks the expected version, and only then waits for its turn."""

    async def append(self, request: AppendRequest) -> Appended:
        for write in request.writes:
            version, _ = await self.head(write.stream)
            if write.expected_version is not None and write.expected_version != version:
                raise VersionConflict(current=version, expected=write.expected_version)
        await asyncio.sleep(0)
        unchecked = tuple(replace(write, expected_version=None) for write in request.writes)
        return await super().append(replace(request, writes=unchecked))


class IgnoresExpectedVersions(EventStoreDecorator):
    """Appends without checking the expected version."""

    async def append(self, request: AppendRequest) -> Appended:
        unchecked = tuple(replace(write, expected_version=None) for write in request.writes)
        return await super().append(replace(request, writes=unchecked))


class IgnoresKnownItems(EventStoreDecorator):
    """Appends an item, whether or not the stream has it."""

    async def append(self, request: AppendRequest) -> Appended:
        writes = tuple(replace(write, items_after=None) for write in request.writes)
        return await super().append(replace(request, writes=writes))


class LooksForItemsOutsideTheLock(EventStoreDecorator):
    """Looks whether the stream has an item, and only then waits for its turn."""

    async def append(self, request: AppendRequest) -> Appended:
        for write in request.writes:
            if write.items_after is not None:
                found = await self._events.find_items(write.stream, [each.item_id or "" for each in write.events])
                newest = max((version for versions in found.values() for version in versions), default=0)
                if newest > write.items_after:
                    raise VersionConflict(current=newest, expected=write.items_after)
        await asyncio.sleep(0)
        writes = tuple(replace(write, items_after=None) for write in request.writes)
        return await super().append(replace(request, writes=writes))


class DropsTheLastEvent(EventStoreDecorator):
    """Loses the last event of a longer write, but returns its receipt."""

    async def append(self, request: AppendRequest) -> Appended:
        shorter = tuple(replace(write, events=write.events[:-1] or write.events) for write in request.writes)
        appended = await super().append(replace(request, writes=shorter))
        stored = {receipt.event_id: receipt for receipt in appended.receipts}
        receipts: list[Receipt] = []
        for event in (event for write in request.writes for event in write.events):
            lost = (
                replace(receipts[-1], event_id=event.event_id, version=receipts[-1].version + 1) if receipts else None
            )
            receipts.append(stored.get(event.event_id) or lost or appended.receipts[0])
        return appended if appended.replayed else replace(appended, receipts=tuple(receipts))


class WritesStreamByStream(EventStoreDecorator):
    """Appends to one stream after the other, and stops at the first that refuses."""

    async def append(self, request: AppendRequest) -> Appended:
        parts = [await super(WritesStreamByStream, self).append(AppendRequest(writes=(w,))) for w in request.writes]
        return Appended(tuple(receipt for part in parts for receipt in part.receipts))

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        return sum([len((await self.append(request)).receipts) for request in requests])


class LeavesGapsInPositions(EventStoreDecorator):
    """Numbers like a sequence: the numbers of a refused request are lost."""

    def __init__(self, events: EventStore) -> None:
        super().__init__(events)
        self._lost: list[int] = []

    async def append(self, request: AppendRequest) -> Appended:
        try:
            return await super().append(request)
        except VersionConflict:
            info = await self.namespace(request.writes[0].stream.namespace_id)
            self._lost.append(info.last_position if info else 0)
            raise

    async def read_namespace(self, namespace_id: UUID, **bounds: int) -> list[StoredEvent]:
        page = await super().read_namespace(namespace_id, **bounds)
        return [replace(event, position=self._shifted(event.position)) for event in page]

    def _shifted(self, position: int) -> int:
        return position + sum(lost < position for lost in self._lost)


class NumbersBeforeItCommits(EventStoreDecorator):
    """Numbers events at once but shows them at their commit, in any order (trust P-5)."""

    def __init__(self, events: EventStore) -> None:
        super().__init__(events)
        self._hidden: set[UUID] = set()
        self._turn = 0

    async def append(self, request: AppendRequest) -> Appended:
        ids = {event.event_id for write in request.writes for event in write.events}
        self._hidden |= ids
        self._turn += 1
        appended = await super().append(request)
        for _ in range(self._turn % 7 * 3):
            await asyncio.sleep(0)
        self._hidden -= ids
        return appended

    async def read_namespace(self, namespace_id: UUID, **bounds: int) -> list[StoredEvent]:
        page = await super().read_namespace(namespace_id, **bounds)
        return [event for event in page if event.event_id not in self._hidden]


class FailsTheWholeBatch(EventStoreDecorator):
    """Shares commits so that a refused request fails the others of its batch."""

    def __init__(self, events: EventStore) -> None:
        super().__init__(events)
        self._group = GroupCommit(self._batch)

    async def _batch(self, requests: Any) -> list[Appended]:
        await asyncio.sleep(0)
        return self._events._append_all(requests)  # type: ignore[attr-defined]

    async def append(self, request: AppendRequest) -> Appended:
        outcome = await self._group.append(request)
        assert isinstance(outcome, Appended)
        return outcome


class ReadsItsLowerBound(EventStoreDecorator):
    """Reads from version *after* on, instead of after it."""

    async def read_stream(self, stream: Stream, *, after: int = 0, **bounds: Any) -> list[StoredEvent]:
        return await super().read_stream(stream, after=max(0, after - 1), **bounds)


class FindsTypesWithoutItemOnly(EventStoreDecorator):
    """Asks the index of types alone, which has no events about items."""

    async def find_types(self, stream: Stream, types: Sequence[str], **bounds: Any) -> list[int]:
        found = await super().find_types(stream, types, **bounds)
        events = await self.read_versions(stream, tuple((version, version) for version in found))
        return [event.version for event in events if event.item_id is None]


class MixesNamespaces(EventStoreDecorator):
    """Finds a stream by its id alone."""

    async def read_stream(self, stream: Stream, **bounds: Any) -> list[StoredEvent]:
        for namespace_id in await self.namespace_ids():
            found = await super().read_stream(
                Stream(stream.namespace, stream.user_id, stream.session_id, namespace_id, stream.stream_id), **bounds
            )
            if found:
                return found
        return []


class TrustsTheClock(EventStoreDecorator):
    """Orders by time: stops at the first event after the moment."""

    async def version_at(self, stream: Stream, moment: Any) -> int:
        version = 0
        for event in await self.read_stream(stream):
            if event.recorded_us > moment.timestamp() * 1_000_000:
                break
            version = event.version
        return version


class CountsFromEveryLog(EventStoreDecorator):
    """Returns a counter that is one higher than the last position."""

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        info = await super().namespace(namespace_id)
        return replace(info, last_position=info.last_position + 1) if info else None


class ForgetsWhereItForked(EventStoreDecorator):
    """Starts a fork as a stream without a parent."""

    async def append(self, request: AppendRequest) -> Appended:
        plain = tuple(replace(write, forked_from=None) for write in request.writes)
        return await super().append(replace(request, writes=plain))


class SharesWhatComesLater(EventStoreDecorator):
    """Reads in a fork also the events that its parent got later."""

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        found = await super().find_items(stream, item_ids)
        for parent in (await self.lineage(stream))[1:]:
            whole = Stream(stream.namespace, parent.user_id, parent.session_id, stream.namespace_id, parent.stream_id)
            for item_id, versions in (await super().find_items(whole, item_ids)).items():
                found[item_id] = sorted({*found.get(item_id, []), *versions})
        return found


class ForksOntoWhatIsThere(EventStoreDecorator):
    """Treats a fork into an existing stream as an append."""

    async def append(self, request: AppendRequest) -> Appended:
        writes = [
            replace(write, forked_from=None) if (await self.head(write.stream))[0] else write
            for write in request.writes
        ]
        return await super().append(replace(request, writes=tuple(writes)))


class ForksFromNothing(EventStoreDecorator):
    """Forks always at the newest version."""

    async def append(self, request: AppendRequest) -> Appended:
        writes = []
        for write in request.writes:
            if write.forked_from is not None:
                parent, version = write.forked_from
                newest = min(version, (await self.head(parent))[0])
                writes.append(replace(write, forked_from=(parent, newest) if newest else None))
            else:
                writes.append(write)
        return await super().append(replace(request, writes=tuple(writes)))
