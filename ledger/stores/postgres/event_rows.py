"""Rows of the ``queries`` as events and heads of streams."""

from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.types.numeric import Int8BinaryLoader

from ledger.events import StoredEvent
from ledger.ports.event_store import StreamHead
from ledger.stores.postgres.arrays import POSTGRES_EPOCH_US
from ledger.stores.postgres.connector import Driver


def stream_head(row: tuple[Any, ...]) -> StreamHead:
    """Return a row of `lineage` or `family` as the head of a stream."""
    return StreamHead(row[0], row[1], row[2], row[3], bytes(row[4]), row[5], row[6])


def stored_event(namespace_id: UUID, row: tuple[Any, ...]) -> StoredEvent:
    """Return a row of one of the ``queries`` that read events as an event."""
    return StoredEvent(
        namespace_id,
        row[16],
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
        row[15],
    )


class EventCursor(AsyncCursor[Any]):
    """Reads times as microseconds since 2000, the form in which the server sends them."""

    def __init__(self, connection: Driver) -> None:
        super().__init__(connection)
        self.adapters.register_loader("timestamptz", Int8BinaryLoader)
