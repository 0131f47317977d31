"""The peer: careful code with psycopg and one table, which does the least that is durable."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS plain_entries (
    session_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (session_id, seq)
)
"""
_INSERT: Final = "INSERT INTO plain_entries (session_id, seq, type, payload) VALUES (%s, %s, %s, %s)"
_COPY_IN: Final = "COPY plain_entries (session_id, seq, type, payload) FROM STDIN (FORMAT binary)"
_COPY_OUT: Final = "COPY (SELECT payload FROM plain_entries ORDER BY session_id, seq) TO STDOUT (FORMAT binary)"
_TYPE: Final = "entry.added"


class PlainTable:
    """One table of entries; `insert` commits each alone, on a connection that is free."""

    def __init__(self, connections: Sequence[psycopg.AsyncConnection[Any]]) -> None:
        self._connections = connections
        # the one used last comes first: a single client keeps to one backend, whose caches are warm
        self._free: asyncio.Queue[psycopg.AsyncConnection[Any]] = asyncio.LifoQueue()
        for connection in connections:
            self._free.put_nowait(connection)

    @classmethod
    async def open(cls, url: str, *, connections: int = 16) -> "PlainTable":
        """Open the connections, and create the table unless it exists."""
        opened = [await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(connections)]
        await opened[0].execute(_TABLE)
        return cls(opened)

    async def insert(self, session: UUID, seq: int, payload: bytes) -> None:
        """Insert one entry and commit."""
        connection = await self._free.get()
        try:
            await connection.execute(_INSERT, (session, seq, _TYPE, payload), prepare=True)
        finally:
            self._free.put_nowait(connection)

    async def insert_many(self, rows: Sequence[tuple[UUID, int, bytes]]) -> None:
        """Insert entries in one transaction, pipelined as executemany does."""
        connection = self._connections[0]
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(_INSERT, [(session, seq, _TYPE, payload) for session, seq, payload in rows])

    async def copy(self, rows: Sequence[tuple[UUID, int, bytes]]) -> None:
        """Copy entries in, in one transaction."""
        async with self._connections[0].cursor().copy(_COPY_IN) as copy:
            copy.set_types(["uuid", "int8", "text", "bytea"])
            for session, seq, payload in rows:
                await copy.write_row((session, seq, _TYPE, payload))

    async def select(self, session: UUID, *, newest: int | None = None) -> list[tuple[Any, ...]]:
        """Return the payloads of a session by its index, newest first; all, or the *newest*."""
        cursor = await self._connections[0].execute(
            "SELECT seq, payload FROM plain_entries WHERE session_id = %s ORDER BY seq DESC LIMIT %s",
            (session, newest),
            prepare=True,
            binary=True,
        )
        return await cursor.fetchall()

    async def first_of_each(self) -> int:
        """Read the first entry of every session, parse its JSON, and return how many there are."""
        cursor = await self._connections[0].execute(
            "SELECT session_id, payload FROM plain_entries WHERE seq = 0", prepare=True, binary=True
        )
        return len([msgspec.json.decode(payload) for _, payload in await cursor.fetchall()])

    async def copy_and_decode(self) -> int:
        """COPY every payload out, parse its JSON, and return how many there are."""
        return sum([1 async for payload in self._payloads() if msgspec.json.decode(payload) is not None])

    async def copy_and_hash(self) -> int:
        """COPY every payload out, hash it with SHA-256, and return how many there are."""
        return sum([1 async for payload in self._payloads() if sha256(payload).digest()])

    async def _payloads(self) -> Any:
        async with self._connections[0].cursor().copy(_COPY_OUT) as copy:
            copy.set_types(["bytea"])
            async for (payload,) in copy.rows():
                yield payload

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            await connection.close()


class BlockingTable:
    """The same table for a client without ``await``."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, url: str) -> "Iterator[BlockingTable]":
        """Connect; the table exists."""
        with psycopg.connect(url, autocommit=True) as connection:
            yield cls(connection)

    def insert(self, session: UUID, seq: int, payload: bytes) -> None:
        """Insert one entry and commit."""
        self._connection.execute(_INSERT, (session, seq, _TYPE, payload), prepare=True)
