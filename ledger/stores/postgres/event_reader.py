"""Reading events: one statement and one round trip for each query.

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
from psycopg.types.numeric import Int8BinaryLoader

from ledger.chain import ZERO_HASH
from ledger.events import EVENT_TYPES, Ranges, StoredEvent
from ledger.events.base import Payload
from ledger.fork_ranges import StreamRange, parts_of, placed
from ledger.ids import Stream
from ledger.ports.event_store import (
    ANY_SIZE,
    EarlierRequest,
    LogBounds,
    NamespaceInfo,
    Receipt,
    SchemaDifference,
    SessionLocation,
    StreamHead,
    in_order_of_keys,
)
from ledger.stores.postgres import catalogue, faults, tables
from ledger.stores.postgres.arrays import POSTGRES_EPOCH_US
from ledger.stores.postgres.connections import Driver, Pool
from ledger.stores.postgres.faults import translated

UNLIMITED: Final = 2**62
_FORKS_KNOWN: Final = 10_000
_TYPES_WITHOUT_ITEM: Final = {name for name, kind in EVENT_TYPES.items() if kind.item_id is Payload.item_id}
_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "queries").glob("*.sql")}


class EventReader:
    """The reading half of `ports.event_store.EventStore`."""

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

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        wanted = {"stream": stream.stream_id, "request": request_id}
        rows = await self.rows("find_request", stream.namespace_id, wanted)
        if not rows:
            return None
        return EarlierRequest(
            bytes(rows[0][0]), tuple(Receipt(row[1], row[2], row[3], row[4], row[5], bytes(row[6])) for row in rows)
        )

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
        lineage = list(map(_head, rows))
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
        return list(map(_head, rows))

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

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        rows = await self.rows("named", namespace_id, {"streams": list(stream_ids)})
        return {row[0]: (row[1], row[2]) for row in rows}

    async def first_events(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> list[StoredEvent]:
        return await self._events("first_events", namespace_id, {"streams": list(stream_ids)}) if stream_ids else []

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[SessionLocation]:
        if not namespace_ids:
            return []
        streams = tables.streams.c
        wanted = (
            sa.select(streams.namespace_id, streams.user_id)
            .where(streams.session_id == session_id, streams.namespace_id.in_(namespace_ids))
            .order_by(streams.namespace_id, streams.user_id)
        )
        if user_id is not None:
            wanted = wanted.where(streams.user_id == user_id)
        async with self._pool.transaction(*namespace_ids) as connection:
            return [SessionLocation(*row) for row in await connection.execute(wanted)]

    async def read_namespace(
        self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000, most_bytes: int = ANY_SIZE
    ) -> list[StoredEvent]:
        return await self._events(
            "read_namespace", namespace_id, {"after": after, "limit": limit, "most_bytes": most_bytes}
        )

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        async with self._pool.transaction(namespace_id) as connection:
            row = (await connection.execute(_namespace_query(namespace_id))).one_or_none()
            return NamespaceInfo(row[0], row[1], row[2]) if row else None

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        table = tables.namespaces.c
        wanted = sa.select(table.namespace_id, table.namespace, table.ledger_id, table.last_position).where(
            table.namespace_id.in_(namespace_ids)
        )
        async with self._pool.transaction(*namespace_ids) as connection:
            return {row[0]: NamespaceInfo(*row[1:]) for row in await connection.execute(wanted)}

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        table = tables.streams.c
        heads = (
            sa.select(
                table.stream_id,
                table.user_id,
                table.session_id,
                table.version,
                table.head_hash,
                table.parent_id,
                table.parent_version,
            )
            .where(table.namespace_id == namespace_id)
            .order_by(table.stream_id)
        )
        async with self._pool.transaction(namespace_id, isolation="REPEATABLE READ") as connection:
            row = (await connection.execute(_namespace_query(namespace_id))).one_or_none()
            if row is None:
                return None
            rows = await connection.execute(heads)
            return NamespaceInfo(row[0], row[1], row[2]), [
                StreamHead(*head[:4], bytes(head[4]), *head[5:]) for head in rows
            ]

    async def bounds(self, namespace_id: UUID) -> LogBounds:
        ((last, events, first),) = await self.rows("bounds", namespace_id, {})
        return LogBounds(last, events, first or 0)

    async def schema_differences(self) -> list[SchemaDifference]:
        with translated():
            async with self._pool.readers.use() as driver:
                return await catalogue.read(driver)

    async def namespace_ids(self) -> list[UUID]:
        with translated():
            async with self._pool.readers.use() as driver:
                return [row[0] for row in await (await driver.execute("SELECT ledger.namespace_ids()")).fetchall()]

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


def _head(row: tuple[Any, ...]) -> StreamHead:
    return StreamHead(row[0], row[1], row[2], row[3], bytes(row[4]), row[5], row[6])


def stored_event(namespace_id: UUID, row: tuple[Any, ...]) -> StoredEvent:
    """Return a row of one of the ``queries`` that read events as an event."""
    return StoredEvent(
        namespace_id,
        row[15],
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
        row[6] + POSTGRES_EPOCH_US,
        row[7] + POSTGRES_EPOCH_US,
        row[8],
        row[9],
        row[10],
        row[11],
        row[12],
        row[13],
        row[14],
    )


class EventCursor(AsyncCursor[Any]):
    """Reads times as microseconds since 2000, the form in which the server sends them."""

    def __init__(self, connection: Driver) -> None:
        super().__init__(connection)
        self.adapters.register_loader("timestamptz", Int8BinaryLoader)


def _namespace_query(namespace_id: UUID) -> sa.Select[str, UUID, int]:
    table = tables.namespaces.c
    return sa.select(table.namespace, table.ledger_id, table.last_position).where(table.namespace_id == namespace_id)
