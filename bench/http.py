"""A client with little overhead, and services in processes of their own."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

import msgspec

_START_S: Final = 30.0
_PREFIXES: Final = ("MEMORY_LEDGER_", "OPENAI_")


class Connection:
    """It sends and reads over one open connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect; asyncio sends each request at once (TCP_NODELAY)."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and return the body of the answer, which must be 2xx."""
        sent = b"" if body is None else msgspec.json.encode(body)
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + sent)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        answer = await self._reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
        if not head.startswith("http/1.1 2"):
            raise RuntimeError(f"{head.splitlines()[0]}: {answer[:200]!r}")
        return answer

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()


def memory_ledger(app_url: str) -> AbstractAsyncContextManager[int]:
    """Run ``memory-ledger serve`` with its default settings, and yield its port."""
    serve = ("-c", "from ledger.cli import main; main()", "serve", "--port")
    return _running(*serve, MEMORY_LEDGER_DATABASE_URL=app_url)


def bare_route(url: str) -> AbstractAsyncContextManager[int]:
    """Run `bench.bare_route`, and yield its port."""
    return _running("-m", "bench.bare_route", url)


@asynccontextmanager
async def _running(*arguments: str, **settings: str) -> AsyncIterator[int]:
    """Run a Python program, whose last argument is a free port, until the context ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIXES)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        str(port),
        env={**environment, **settings},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _listens(process, port)
        yield port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _listens(process: asyncio.subprocess.Process, port: int) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            await (await Connection.open(port)).close()
        except OSError:
            if process.returncode is not None or time.monotonic() > deadline:
                raise RuntimeError("the service did not start") from None
            await asyncio.sleep(0.05)
        else:
            return
