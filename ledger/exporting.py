"""A session, or a whole namespace, as the lines of one of our own files. Source: trust E-12."""

from collections.abc import AsyncIterator

from ledger.errors import SessionNotFound
from ledger.ids import Stream, namespace_id
from ledger.pages import namespace_pages, stream_pages
from ledger.ports import Store
from ledger.transfer.writer import Writer


async def export_lines(store: Store, namespace: str, stream: Stream | None) -> AsyncIterator[bytes]:
    """Yield header, events and trailer, as of the moment of the first line.

    Raises:
        SessionNotFound: there are no events to export.
    """
    space = namespace_id(namespace)
    overview = await store.overview(space)
    if overview is None:
        raise SessionNotFound(stream.session_id if stream else "(any)")
    info, heads = overview
    if stream is not None:
        heads = [head for head in heads if head.stream_id == stream.stream_id]
        if not heads:
            raise SessionNotFound(stream.session_id)
    writer = Writer(ledger_id=info.ledger_id, namespace=namespace)
    yield writer.header()
    pages = (
        namespace_pages(store, space, until=info.last_position)
        if stream is None
        else stream_pages(store, stream, until=heads[0].version)
    )
    async for page in pages:
        for event in page:
            yield writer.event(event)
    yield writer.trailer(heads)
