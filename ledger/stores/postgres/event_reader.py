"""The reading half of the event store: of one stream by its base class, of namespaces and many streams here."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from ledger.events import StoredEvent
from ledger.events.ids import Stream
from ledger.ports.append_request import EarlierRequest, Receipt
from ledger.ports.event_store import ANY_SIZE, LogBounds, NamespaceInfo, SchemaDifference, SessionLocation, StreamHead
from ledger.stores.postgres import catalogue, tables
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.stream_reader import StreamReader


class EventReader(StreamReader):
    """The reading half of `ports.event_store.EventStore`."""

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        wanted = {"stream": stream.stream_id, "request": request_id}
        rows = await self.rows("find_request", stream.namespace_id, wanted)
        if not rows:
            return None
        return EarlierRequest(
            bytes(rows[0][0]), tuple(Receipt(row[1], row[2], row[3], row[4], row[5], bytes(row[6])) for row in rows)
        )

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


def _namespace_query(namespace_id: UUID) -> sa.Select[str, UUID, int]:
    table = tables.namespaces.c
    return sa.select(table.namespace, table.ledger_id, table.last_position).where(table.namespace_id == namespace_id)
