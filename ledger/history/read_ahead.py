"""Long reads in pages; the next page is read while the caller works on the current one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from operator import attrgetter
from typing import Final, TypeAlias
from uuid import UUID

from ledger.events import StoredEvent
from ledger.events.ids import Stream
from ledger.ports import Store

Page: TypeAlias = list[StoredEvent]

_EVENTS: Final = 1_000
#: The size of a page of large events; two are held at once.
PAGE_BYTES: Final = 4 * 1024 * 1024


async def namespace_pages(store: Store, namespace_id: UUID, *, until: int) -> AsyncIterator[Page]:
    """Yield the events of a namespace in position order, up to position *until*."""

    async def read(after: int) -> Page:
        page = await store.events.read_namespace(namespace_id, after=after, limit=_EVENTS, most_bytes=PAGE_BYTES)
        return [event for event in page if event.position <= until]

    async for page in _ahead(read, attrgetter("position"), until):
        yield page


async def stream_pages(store: Store, stream: Stream, *, until: int) -> AsyncIterator[Page]:
    """Yield the events of a stream in version order, up to version *until*, in pages of about `PAGE_BYTES`."""

    async def read(after: int) -> Page:
        return await store.events.read_page(stream, after=after, until=until, limit=_EVENTS, most_bytes=PAGE_BYTES)

    async for page in _ahead(read, attrgetter("version"), until):
        yield page


async def _ahead(
    read: Callable[[int], Awaitable[Page]], place: Callable[[StoredEvent], int], until: int
) -> AsyncIterator[Page]:
    next_page: asyncio.Future[Page] = asyncio.ensure_future(read(0))
    try:
        while page := await next_page:
            last = place(page[-1])
            if last >= until:
                yield page
                return
            next_page = asyncio.ensure_future(read(last))
            yield page
    finally:
        next_page.cancel()
