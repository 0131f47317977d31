"""Export a session, or a whole namespace, as the lines of a file. Source: trust E-12."""

from collections.abc import AsyncIterator, Mapping
from uuid import UUID

from msgspec.structs import replace

from ledger.errors import SessionNotFound
from ledger.events import StoredEvent
from ledger.events.ids import Stream, namespace_id
from ledger.formats.export.file_lines import ForkOrigin
from ledger.formats.export.file_writer import ExportWriter
from ledger.history.read_ahead import namespace_pages, stream_pages
from ledger.ports import Store, StreamHead
from ledger.ports.fork_ranges import lineage_of


async def export_lines(store: Store, namespace: str, stream: Stream | None) -> AsyncIterator[bytes]:
    """Yield header, events and trailer, as of the moment of the first line.

    Raises:
        SessionNotFound: there are no events to export.
    """
    namespace_uuid = namespace_id(namespace)
    overview = await store.events.overview(namespace_uuid)
    if overview is None:
        raise SessionNotFound(stream.session_id if stream else "(any)")
    info, heads = overview
    if stream is not None:
        heads = lineage_of(stream.stream_id, {head.stream_id: head for head in heads})
        if not heads:
            raise SessionNotFound(stream.session_id)
    forks = tuple(
        ForkOrigin(head.stream_id, head.parent_id, head.parent_version)
        for head in heads
        if head.parent_id is not None and head.parent_version is not None
    )
    session = stream.stream_id if stream is not None and forks else None
    writer = ExportWriter(ledger_id=info.ledger_id, namespace=namespace, forks=forks, session=session)
    yield writer.header()
    pages = (
        namespace_pages(store, namespace_uuid, until=info.last_position)
        if stream is None
        else stream_pages(store, stream, until=heads[0].version)
    )
    ends: dict[UUID, StoredEvent] = {}
    async for page in pages:
        for event in page:
            ends[event.stream_id] = event
            yield writer.event(event)
    yield writer.trailer([_cut(head, ends) for head in heads if head.stream_id in ends])


def _cut(head: StreamHead, ends: Mapping[UUID, StoredEvent]) -> StreamHead:
    """Return *head* at the last written event of its stream: a fork's file has its parents only up to the fork."""
    last = ends[head.stream_id]
    return replace(head, version=last.version, head_hash=last.hash)
