"""Reading the log: one statement and one round trip for each question."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
import sqlalchemy as sa
from psycopg import AsyncCursor
from psycopg.types.numeric import Int8BinaryLoader

from ledger.chain import ZERO_HASH
from ledger.events import Ranges, StoredEvent
from ledger.ids import Stream
from ledger.ports import NamespaceInfo, Snapshot, StreamHead
from ledger.stores.postgres import faults, tables
from ledger.stores.postgres.arrays import POSTGRES_EPOCH_US
from ledger.stores.postgres.connections import Driver, Pool
from ledger.stores.postgres.faults import translated

_UNLIMITED: Final = 2**62
_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "queries").glob("*.sql")}


class Reading:
    """The `ports.StreamReader`, `ports.StreamLocator` and `ports.NamespaceReader` of the store."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        """See `ports.StreamReader.read_stream`."""
        bounds = {
            "stream": stream.stream_id,
            "after": after,
            "until": _UNLIMITED if until is None else until,
            "limit": _UNLIMITED if limit is None else limit,
        }
        return await self._events("read_stream", stream.namespace_id, bounds)

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        """See `ports.StreamReader.read_versions`."""
        if not wanted:
            return []
        firsts, lasts = [first for first, _ in wanted], [last for _, last in wanted]
        bounds = {"stream": stream.stream_id, "firsts": firsts, "lasts": lasts}
        return await self._events("read_versions", stream.namespace_id, bounds)

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        """See `ports.StreamReader.find_items`."""
        found: dict[str, list[int]] = {}
        wanted = {"stream": stream.stream_id, "items": list(item_ids)}
        for item_id, version in await self._rows("find_items", stream.namespace_id, wanted):
            found.setdefault(item_id, []).append(version)
        return found

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        """See `ports.StreamLocator.head`."""
        rows = await self._rows("head", stream.namespace_id, {"stream": stream.stream_id})
        return (rows[0][0], bytes(rows[0][1])) if rows else (0, ZERO_HASH)

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        """See `ports.StreamLocator.version_at`."""
        wanted = {"stream": stream.stream_id, "moment": moment}
        rows = await self._rows("version_at", stream.namespace_id, wanted)
        return int(rows[0][0]) if rows else 0

    async def read_namespace(self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000) -> list[StoredEvent]:
        """See `ports.NamespaceReader.read_namespace`."""
        return await self._events("read_namespace", namespace_id, {"after": after, "limit": limit})

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        """See `ports.NamespaceReader.namespace`."""
        async with self._pool.transaction(namespace_id) as connection:
            row = (await connection.execute(_namespace_query(namespace_id))).one_or_none()
            return NamespaceInfo(row[0], row[1], row[2]) if row else None

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        """See `ports.NamespaceReader.overview`."""
        table = tables.streams.c
        heads = (
            sa.select(table.stream_id, table.user_id, table.session_id, table.version, table.head_hash)
            .where(table.namespace_id == namespace_id)
            .order_by(table.stream_id)
        )
        async with self._pool.transaction(namespace_id, isolation="REPEATABLE READ") as connection:
            row = (await connection.execute(_namespace_query(namespace_id))).one_or_none()
            if row is None:
                return None
            rows = await connection.execute(heads)
            return NamespaceInfo(row[0], row[1], row[2]), [StreamHead(*head[:4], bytes(head[4])) for head in rows]

    async def namespace_ids(self) -> list[UUID]:
        """Return the ids of all namespaces; their names and content stay behind row security (trust D-7)."""
        with translated():
            async with self._pool.readers.use() as driver:
                return [row[0] for row in await (await driver.execute("SELECT ledger.namespace_ids()")).fetchall()]

    async def _events(self, query: str, namespace_id: UUID, bounds: dict[str, Any]) -> list[StoredEvent]:
        rows = await self._rows(query, namespace_id, bounds, cursor=_EventCursor)
        return [
            StoredEvent(
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
            for row in rows
        ]

    async def _rows(
        self,
        query: str,
        namespace_id: UUID,
        parameters: dict[str, Any],
        cursor: type[AsyncCursor[Any]] = AsyncCursor,
    ) -> list[tuple[Any, ...]]:
        """Run one of the ``queries``, in one round trip; tried again once if the connection had broken."""
        values = {"namespace": str(namespace_id), **parameters}
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

    async def load_snapshot(
        self, stream: Stream, projection: str, projection_version: int, *, at_most: int | None = None
    ) -> Snapshot | None:
        """See `ports.SnapshotStore.load_snapshot`."""
        wanted = {
            "stream": stream.stream_id,
            "projection": projection,
            "projection_version": projection_version,
            "at_most": _UNLIMITED if at_most is None else at_most,
        }
        rows = await self._rows("load_snapshot", stream.namespace_id, wanted)
        return Snapshot(projection, projection_version, *rows[0]) if rows else None


class _EventCursor(AsyncCursor[Any]):
    """Reads times as microseconds since 2000, which is what the wire carries."""

    def __init__(self, connection: Driver) -> None:
        super().__init__(connection)
        self.adapters.register_loader("timestamptz", Int8BinaryLoader)


def _namespace_query(namespace_id: UUID) -> sa.Select[str, UUID, int]:
    table = tables.namespaces.c
    return sa.select(table.namespace, table.ledger_id, table.last_position).where(table.namespace_id == namespace_id)
