"""Long reads in pages; the next page is read while the caller works on the current one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from operator import attrgetter
from typing import Final, TypeAlias
from uuid import UUID

from ledger.events import StoredEvent
from ledger.ids import Stream
from ledger.ports import Store

Page: TypeAlias = list[StoredEvent]

_EVENTS: Final = 1_000
#: The size of a page of large events; two are held at once.
PAGE_BYTES: Final = 4 * 1024 * 1024
#: Events of the first page of a stream, whose sizes are not known.
_FIRST: Final = 32


async def namespace_pages(store: Store, namespace_id: UUID, *, until: int) -> AsyncIterator[Page]:
    """Yield the events of a namespace in position order, up to position *until*."""

    async def read(after: int) -> Page:
        page = await store.events.read_namespace(namespace_id, after=after, limit=_EVENTS, most_bytes=PAGE_BYTES)
        return [event for event in page if event.position <= until]

    async for page in _ahead(read, attrgetter("position"), until):
        yield page


async def stream_pages(store: Store, stream: Stream, *, until: int) -> AsyncIterator[Page]:
    """Yield the events of a stream in version order, up to version *until*.

    A page has about `PAGE_BYTES` at most, if its events are as large as those before it.
    """
    limit = _FIRST

    async def read(after: int) -> Page:
        nonlocal limit
        page = await store.events.read_stream(stream, after=after, until=until, limit=limit)
        size = sum(len(event.payload or b"") for event in page)
        fitting = len(page) * PAGE_BYTES // max(1, size)
        limit = max(1, min(_EVENTS, fitting, 4 * limit))
        return page

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
