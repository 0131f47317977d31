"""Reading the events of one stream: one statement and one round trip for each query.

The first events of a fork are in its parents, so a read of its own stream returns too little. Only then is its lineage
read, once per process, because it never changes. Other streams cost nothing extra.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
import sqlalchemy as sa
from psycopg import AsyncCursor

from ledger.events import EVENT_TYPES, Ranges, StoredEvent
from ledger.events.chain import ZERO_HASH
from ledger.events.ids import Stream
from ledger.events.payload_types import Payload
from ledger.ports.event_store import StreamHead, in_order_of_keys
from ledger.ports.fork_ranges import StreamRange, parts_of, placed
from ledger.stores.postgres import faults
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_rows import EventCursor, stored_event, stream_head

UNLIMITED: Final = 2**62
_FORKS_KNOWN: Final = 10_000
_TYPES_WITHOUT_ITEM: Final = {name for name, kind in EVENT_TYPES.items() if kind.item_id is Payload.item_id}
_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "queries").glob("*.sql")}


class StreamReader:
    """The half of `EventReader` that reads one stream."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._forks: dict[UUID, tuple[StreamRange, ...]] = {}

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        last = UNLIMITED if until is None else until
        at_most = UNLIMITED if limit is None else limit
        parts = self._forks.get(stream.stream_id)
        if parts is None:
            bounds = {"stream": stream.stream_id, "after": after, "until": last, "limit": at_most}
            events = await self._events("read_stream", stream.namespace_id, bounds)
            incomplete = events[0].version > after + 1 if events else after < last < UNLIMITED and at_most > 0
            if not incomplete or (parts := await self.parts(stream)) is None:
                return events
        return await self._events_of(parts, stream.namespace_id, ((after + 1, last),), at_most)

    async def read_page(self, stream: Stream, after: int, until: int, limit: int, most_bytes: int) -> list[StoredEvent]:
        whole = (StreamRange(stream.stream_id, 0, UNLIMITED),)
        parts, found = self._forks.get(stream.stream_id) or whole, list[StoredEvent]()
        for part in parts:
            left = most_bytes - sum(event.size_b for event in found)
            if left <= 0 or len(found) >= limit or part.until <= after or part.after >= until:
                continue
            bounds = {"stream": part.stream_id, "after": max(after, part.after), "until": min(part.until, until)}
            sizes = {"limit": limit - len(found), "most_bytes": left}
            found += await self._events("read_stream_page", stream.namespace_id, bounds | sizes)
        incomplete = found[0].version > after + 1 if found else after < until
        if parts is whole and incomplete and await self.parts(stream) is not None:
            return await self.read_page(stream, after=after, until=until, limit=limit, most_bytes=most_bytes)
        return found

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        if not wanted:
            return []
        firsts, lasts = [first for first, _ in wanted], [last for _, last in wanted]
        parts = self._forks.get(stream.stream_id)
        if parts is None:
            bounds = {"stream": stream.stream_id, "firsts": firsts, "lasts": lasts}
            events = await self._events("read_versions", stream.namespace_id, bounds)
            first = min(firsts)
            if any(event.version == first for event in events) or (parts := await self.parts(stream)) is None:
                return events
        return await self._events_of(parts, stream.namespace_id, wanted, UNLIMITED)

    async def read_newest(
        self, stream: Stream, *, limit: int, until: int | None = None, without: Sequence[str] = ()
    ) -> tuple[int, list[StoredEvent]]:
        last = UNLIMITED if until is None else until
        found: list[tuple[Any, ...]] = []  # newest first
        version = 0

        async def read_part(part: StreamRange) -> bool | None:
            nonlocal version
            bounds = {"stream": part.stream_id, "until": min(part.until, last), "limit": limit - len(found)}
            rows = await self.rows(
                "read_newest", stream.namespace_id, {**bounds, "without": list(without)}, cursor=EventCursor
            )
            version = version or (rows[0][17] if rows else 0)
            found.extend(row for row in rows if row[0] is not None)
            return rows[0][18] if rows else None

        is_fork = await read_part(StreamRange(stream.stream_id, 0, UNLIMITED))
        if len(found) < limit and (is_fork or (is_fork is None and until is not None)):
            for part in reversed((await self.parts(stream) or ())[:-1]):
                if len(found) < limit:
                    await read_part(part)
        return version, [stored_event(stream.namespace_id, row) for row in reversed(found)]

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        rows = await self._items(stream.namespace_id, stream.stream_id, item_ids)
        if rows and rows[-1][0] is None:
            older = [
                (item_id, version)
                for part in (await self.parts(stream) or ())[:-1]
                for item_id, version in await self._items(stream.namespace_id, part.stream_id, item_ids)
                if item_id is not None and part.after < version <= part.until
            ]
            rows = [*older, *rows[:-1]]
        found: dict[str, list[int]] = {}
        for item_id, version in rows:
            found.setdefault(item_id, []).append(version)
        return found

    async def _items(self, namespace_id: UUID, stream_id: UUID, item_ids: Sequence[str]) -> list[tuple[Any, ...]]:
        wanted = {"stream": stream_id, "items": list(item_ids)}
        return await self.rows("find_items", namespace_id, wanted)

    async def find_types(
        self,
        stream: Stream,
        types: Sequence[str],
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[int]:
        last = UNLIMITED if until is None else until
        wanted = {
            "types": [name for name in types if name in _TYPES_WITHOUT_ITEM],
            "item_types": [name for name in types if name not in _TYPES_WITHOUT_ITEM],
            "limit": UNLIMITED if limit is None else limit,
        }

        async def of_part(part: StreamRange) -> list[tuple[Any, ...]]:
            bounds = {"stream": part.stream_id, "after": max(after, part.after), "until": min(last, part.until)}
            return await self.rows("find_types", stream.namespace_id, wanted | bounds)

        return (await self._versions(stream, of_part))[:limit]

    async def find_versions(
        self, stream: Stream, *, after: int, until: int, types: Sequence[str] | None = None, actor: str | None = None
    ) -> list[int]:
        wanted = {"types": None if types is None else list(types), "actor": actor}

        async def of_part(part: StreamRange) -> list[tuple[Any, ...]]:
            bounds = {"stream": part.stream_id, "after": max(after, part.after), "until": min(until, part.until)}
            return await self.rows("find_versions", stream.namespace_id, wanted | bounds)

        return await self._versions(stream, of_part)

    async def _versions(
        self, stream: Stream, of_part: Callable[[StreamRange], Awaitable[list[tuple[Any, ...]]]]
    ) -> list[int]:
        """Return the versions that *of_part* finds in a stream and, if a row without one says so, in its parents."""
        rows = await of_part(StreamRange(stream.stream_id, 0, UNLIMITED))
        versions: list[int] = [version for (version,) in rows if version is not None]
        if len(versions) < len(rows):  # it is a fork
            for part in reversed((await self.parts(stream) or ())[:-1]):
                versions = [version for (version,) in await of_part(part) if version is not None] + versions
        return versions

    async def find_newest(self, stream: Stream, type: str, *, until: int | None = None) -> int:
        last = UNLIMITED if until is None else until
        return await self._newest("find_newest", stream, {"type": type}, last)

    async def read_kept(
        self,
        stream: Stream,
        *,
        first: str,
        end: str,
        after: int = 0,
        until: int | None = None,
        greatest_first: bool = False,
        limit: int | None = None,
        every: bool = False,
    ) -> list[StoredEvent]:
        last = UNLIMITED if until is None else until
        wanted = {"first": first, "end": end, "limit": UNLIMITED if limit is None else limit}
        query = "read_kept_every" if every else "read_kept_greatest" if greatest_first else "read_kept"

        async def of_part(part: StreamRange) -> list[tuple[Any, ...]]:
            bounds = {"stream": part.stream_id, "after": max(after, part.after), "until": min(last, part.until)}
            return await self.rows(query, stream.namespace_id, wanted | bounds, cursor=EventCursor)

        rows = await of_part(StreamRange(stream.stream_id, 0, UNLIMITED))
        if any(row[0] is None for row in rows):  # it is a fork
            for part in (await self.parts(stream) or ())[:-1]:
                if part.until > after:
                    rows += await of_part(part)
        events = [stored_event(stream.namespace_id, row) for row in rows if row[0] is not None]
        return in_order_of_keys(events, greatest_first=greatest_first, every=every)[:limit]

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        rows = await self.rows("head", stream.namespace_id, {"stream": stream.stream_id})
        return (rows[0][0], bytes(rows[0][1])) if rows else (0, ZERO_HASH)

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        rows = await self.rows("lineage", stream.namespace_id, {"stream": stream.stream_id})
        lineage = list(map(stream_head, rows))
        self._forks.pop(stream.stream_id, None)
        if len(lineage) > 1:
            if len(self._forks) >= _FORKS_KNOWN:
                self._forks.clear()
            self._forks[stream.stream_id] = parts_of(lineage)
        return lineage

    async def parts(self, stream: Stream) -> tuple[StreamRange, ...] | None:
        """Return the streams that hold the events of a fork; None if *stream* is not a fork."""
        if stream.stream_id not in self._forks:
            await self.lineage(stream)
        return self._forks.get(stream.stream_id)

    async def family(self, stream: Stream, *, limit: int) -> list[StreamHead]:
        rows = await self.rows("family", stream.namespace_id, {"stream": stream.stream_id, "limit": limit})
        return list(map(stream_head, rows))

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        return await self._newest("version_at", stream, {"moment": moment}, UNLIMITED)

    async def _newest(self, query: str, stream: Stream, wanted: dict[str, Any], until: int) -> int:
        """Return the version that *query* finds in a stream or, of a fork, in the nearest parent that has one."""

        async def of_part(part: StreamRange) -> int:
            bounds = {"stream": part.stream_id, "until": min(part.until, until)}
            rows = await self.rows(query, stream.namespace_id, wanted | bounds)
            return int(rows[0][0]) if rows else 0

        version = await of_part(StreamRange(stream.stream_id, 0, UNLIMITED))
        if not version:
            for part in reversed((await self.parts(stream) or ())[:-1]):
                version = version or await of_part(part)
        return version

    async def read_ranges(
        self,
        namespace_id: UUID,
        ranges: Sequence[tuple[UUID, int, int]],
        *,
        each: int = UNLIMITED,
        limit: int = UNLIMITED,
    ) -> list[StoredEvent]:
        """Return events by (stream id, first version, last version), in this order, and of a fork only its own.

        At most *each* of a range, and *limit* of all.
        """
        bounds = {
            "streams": [stream_id for stream_id, _, _ in ranges],
            "firsts": [first for _, first, _ in ranges],
            "lasts": [last for _, _, last in ranges],
            "each": min(each, limit),
            "limit": limit,
        }
        return await self._events("read_parts", namespace_id, bounds) if ranges else []

    async def _events_of(
        self, parts: Sequence[StreamRange], namespace_id: UUID, wanted: Ranges, limit: int
    ) -> list[StoredEvent]:
        """Return the events of a fork at the versions in *wanted*, in that order."""
        return await self.read_ranges(namespace_id, placed(parts, wanted), limit=limit)

    async def _events(self, query: str, namespace_id: UUID, bounds: dict[str, Any]) -> list[StoredEvent]:
        rows = await self.rows(query, namespace_id, bounds, cursor=EventCursor)
        return [stored_event(namespace_id, row) for row in rows]

    async def rows(
        self,
        query: str,
        namespace_id: UUID | None,
        parameters: dict[str, Any],
        cursor: type[AsyncCursor[Any]] = AsyncCursor,
    ) -> list[tuple[Any, ...]]:
        """Run one of the ``queries`` in one round trip; try once more if the connection had broken.

        Without *namespace_id* the query takes several from its parameters.
        """
        values = {"namespace": namespace_id, **parameters}
        for last_try in (False, True):
            try:
                async with self._pool.readers.use() as driver, cursor(driver) as reading:
                    await reading.execute(_QUERIES[query], values, prepare=True, binary=True)
                    return await reading.fetchall()
            except (psycopg.Error, sa.exc.DBAPIError, sa.exc.TimeoutError, OSError) as fault:
                cause = fault.orig if isinstance(fault, sa.exc.DBAPIError) else fault
                if last_try or not (isinstance(cause, psycopg.Error) and faults.outcome_unknown(cause)):
                    raise faults.ledger_error(cause) from fault
        raise AssertionError("the loop returns or raises")
