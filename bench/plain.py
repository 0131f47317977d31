"""The peer: careful code with psycopg and one table, which does the least that is durable."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

_TABLE = """
CREATE TABLE plain_entries (
    session_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (session_id, seq)
)
"""
_INSERT = "INSERT INTO plain_entries (session_id, seq, type, payload) VALUES (%s, %s, %s, %s)"


class PlainTable:
    """One table of entries; `insert` commits each alone."""

    def __init__(self, connections: Sequence[psycopg.AsyncConnection[Any]]) -> None:
        self._connections = connections
        self._free: asyncio.Queue[psycopg.AsyncConnection[Any]] = asyncio.Queue()
        for connection in connections:
            self._free.put_nowait(connection)

    @classmethod
    async def open(cls, url: str, *, connections: int = 16) -> "PlainTable":
        """Create the table and open the connections."""
        opened = [await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(connections)]
        await opened[0].execute("DROP TABLE IF EXISTS plain_entries")
        await opened[0].execute(_TABLE)
        return cls(opened)

    async def insert(self, session: UUID, seq: int, payload: bytes) -> None:
        """Insert one entry and commit."""
        connection = await self._free.get()
        try:
            await connection.execute(_INSERT, (session, seq, "entry.added", payload), prepare=True)
        finally:
            self._free.put_nowait(connection)

    async def insert_many(self, session: UUID, first: int, payloads: Sequence[bytes]) -> None:
        """Insert entries in one transaction, pipelined as executemany does."""
        connection = self._connections[0]
        rows = [(session, first + at, "entry.added", payload) for at, payload in enumerate(payloads)]
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(_INSERT, rows)

    async def select(self, session: UUID, *, after: int = 0, until: int = 2**62) -> list[tuple[Any, ...]]:
        """Return the payloads of a session, by its index."""
        cursor = await self._connections[0].execute(
            "SELECT seq, payload FROM plain_entries WHERE session_id = %s AND seq > %s AND seq <= %s ORDER BY seq",
            (session, after, until),
            prepare=True,
            binary=True,
        )
        return await cursor.fetchall()

    async def copy_and_decode(self) -> int:
        """COPY every payload out and parse its JSON; return how many."""
        count = 0
        query = "COPY (SELECT payload FROM plain_entries ORDER BY session_id, seq) TO STDOUT (FORMAT binary)"
        async with self._connections[0].cursor().copy(query) as copy:
            copy.set_types(["bytea"])
            async for (payload,) in copy.rows():
                msgspec.json.decode(payload)
                count += 1
        return count

    async def bytes_on_disk(self, table: str = "plain_entries") -> int:
        """Return the size of *table* and its indexes after a vacuum."""
        name = sql.Identifier(*table.split("."))
        await self._connections[0].execute(sql.SQL("VACUUM {}").format(name))
        cursor = await self._connections[0].execute("SELECT pg_total_relation_size(%s::regclass)", (table,))
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            await connection.close()
