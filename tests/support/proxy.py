"""A proxy between a store and its server, which loses requests, or answers to what was done. Source: trust F-7, F-10.

It knows as much of PostgreSQL's protocol as to tell where a request and its answer end.
"""

import asyncio
import struct
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

#: Where a request is lost: before the server sees it, or after it was executed; None means nowhere.
Lost: TypeAlias = Literal["before", "after"] | None
Lose: TypeAlias = Callable[[bytes], Lost]

SOCKET = ".s.PGSQL.5432"
_ENDS_A_REQUEST = {b"S", b"Q"}  # Sync, Query
_READY = b"Z"
_APPENDS = (b"\0ledger_append\0", b"\0ledger_append_stream\0")  # a Bind of a prepared call


def is_append(request: bytes) -> bool:
    """Return whether *request* calls ``ledger.append`` or ``append_stream``."""
    return request[:1] == b"B" and any(each in request[:64] for each in _APPENDS)


class _Connection:
    """One client's connection, passed on message by message."""

    def __init__(self, lose: Lose, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._lose = lose
        self._client = client
        self._server = server
        self._fates: deque[Lost] = deque()

    def cut(self) -> None:
        """End the connection at both ends, without a word."""
        self._client.transport.abort()
        self._server.transport.abort()

    async def pass_on_requests(self, reader: asyncio.StreamReader) -> None:
        """Pass requests on to the server, whole, until one is lost."""
        length = await reader.readexactly(4)
        request = length + await reader.readexactly(struct.unpack("!i", length)[0] - 4)
        while True:
            fate = self._lose(request)
            if fate == "before":
                return
            self._fates.append(fate)
            self._server.write(request)
            request = b""
            kind = b""
            while kind not in _ENDS_A_REQUEST:
                kind, message = await _message(reader)
                request += message

    async def pass_on_answers(self, reader: asyncio.StreamReader) -> None:
        """Pass answers on to the client, whole, until one is lost."""
        while True:
            answer = b""
            kind = b""
            try:
                while kind != _READY:
                    kind, message = await _message(reader)
                    answer += message
            finally:
                if not self._fates or self._fates.popleft() != "after":
                    self._client.write(answer)
                else:
                    self.cut()
            await self._client.drain()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return the kind of the next message, and all of it."""
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)


@asynccontextmanager
async def proxy(server: Path, lose: Lose) -> AsyncIterator[Path]:
    """Yield the folder of a socket that leads to the one in folder *server*, with what *lose* says lost."""
    serving: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.create_task(_serve(server, lose, reader, writer)))

    with tempfile.TemporaryDirectory(prefix="proxy-") as folder:
        async with await asyncio.start_unix_server(connected, Path(folder) / SOCKET):
            yield Path(folder)
        for task in serving:
            task.cancel()
        endings = await asyncio.gather(*serving, return_exceptions=True)
    faults = [ending for ending in endings if isinstance(ending, Exception)]
    assert not faults, faults


async def _serve(server: Path, lose: Lose, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes in both ways, until one end is closed or something is lost."""
    behind_reader, behind_writer = await asyncio.open_unix_connection(server / SOCKET)
    connection = _Connection(lose, writer, behind_writer)
    ways = [
        asyncio.create_task(connection.pass_on_requests(reader)),
        asyncio.create_task(connection.pass_on_answers(behind_reader)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        endings = await asyncio.gather(*ways, return_exceptions=True)
        with suppress(OSError):
            await writer.drain()
        connection.cut()
        await asyncio.sleep(0)  # in which the transports close
    for ending in endings:
        if not isinstance(ending, asyncio.IncompleteReadError | asyncio.CancelledError | OSError | None):
            raise ending
