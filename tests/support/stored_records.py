"""Records put straight into a store's projection, without events."""

from collections.abc import Sequence
from uuid import UUID

from ledger.events.ids import Stream, namespace_id
from ledger.indexes.stored_projections.builds import Build
from ledger.ports import AppendRequest, Store, StreamWrite
from ledger.ports.record_store import RECORDS_PROJECTION
from projections.records.records import RECORDS, Record
from tests.support.store_requests import some_events


async def put_records(store: Store, namespace: str, records: Sequence[tuple[Stream, Record]]) -> dict[UUID, int]:
    """Store *records* in a build that is live and up to date, and return it."""
    namespace_uuid, build = namespace_id(namespace), Build(200, 1).key
    anything = StreamWrite(stream=Stream.of(namespace, RECORDS), events=tuple(some_events(1)))
    await store.events.append(AppendRequest(writes=(anything,)))
    await store.projections.begin_build(namespace_uuid, RECORDS_PROJECTION, build, bytes(32))
    rows = [(stream.stream_id, stream.user_id, record) for stream, record in records]
    assert await store.records.save(namespace_uuid, build, rows, after=0, position=1, language="simple") == 1
    await store.projections.go_live(namespace_uuid, RECORDS_PROJECTION, build)
    return {namespace_uuid: build}
