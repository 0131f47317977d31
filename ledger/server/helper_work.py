"""What runs in the helper process: it answers the requests that arrive over a pipe, and sends the answers back.

A frame of the pipe is a pickled tuple with its length before it: the number of the request, the kind, and the content.
To the helper go ``request`` (scope and body), ``sent`` (a part of the answer was sent on) and ``cancel``; back come
``send`` (a part of the answer) and ``end`` (what became known of the request; None if it crashed). Number 0 is the
start.
"""

import asyncio
import logging
import pickle
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, TypeAlias

from starlette.types import ASGIApp, Message, Scope

from ledger.errors import LedgerError

log = logging.getLogger("ledger.server")

#: Opens the application in the helper; found there by its name, and called with the helper's arguments.
OpenApp: TypeAlias = Callable[..., AbstractAsyncContextManager[ASGIApp]]
#: What became known of a request while it was answered.
Known: TypeAlias = dict[str, str]
Frame: TypeAlias = tuple[int, str, Any]

_LENGTH_BYTES: Final = 4


class HelperPipe:
    """One end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, connection: socket.socket) -> "HelperPipe":
        """Return the end of the pipe that is *connection*."""
        connection.setblocking(False)
        return cls(*await asyncio.open_connection(sock=connection))

    def write(self, number: int, kind: str, content: object = None) -> None:
        """Send a frame; it is on its way when this returns."""
        frame = pickle.dumps((number, kind, content))
        self._writer.write(len(frame).to_bytes(_LENGTH_BYTES) + frame)

    async def read(self) -> Frame:
        """Return the next frame.

        Raises:
            asyncio.IncompleteReadError: the other process ended.
        """
        length = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES))
        frame: Frame = pickle.loads(await self._reader.readexactly(length))  # noqa: S301 - from our own process
        return frame

    async def drain(self) -> None:
        """Wait until there is room for more to send."""
        await self._writer.drain()

    def close(self) -> None:
        """Close this end; the other one then reads the end."""
        self._writer.close()


def help_over(open_app: OpenApp, arguments: tuple[object, ...], connection: socket.socket) -> None:
    """Open the application and answer until the other end is closed.

    Signals for the whole service are for the process that asks.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)

    async def run() -> None:
        pipe = await HelperPipe.over(connection)
        try:
            async with open_app(*arguments) as app:
                pipe.write(0, "ready", "")
                await _Helper(app, pipe).work()
        except LedgerError as fault:
            pipe.write(0, "ready", str(fault))
            await pipe.drain()

    asyncio.run(run())


class _Helper:
    """The requests that the helper answers."""

    def __init__(self, app: ASGIApp, pipe: HelperPipe) -> None:
        self._app = app
        self._pipe = pipe
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._sent: dict[int, asyncio.Semaphore] = {}

    async def work(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                number, kind, content = await self._pipe.read()
                if kind == "request":
                    self._sent[number] = asyncio.Semaphore(0)
                    self._tasks[number] = asyncio.create_task(self._answer(number, *content))
                elif number in self._tasks and kind == "sent":
                    self._sent[number].release()
                elif number in self._tasks:
                    self._tasks[number].cancel()
        left = list(self._tasks.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _answer(self, number: int, scope: Scope, body: bytes) -> None:
        unread = [body]

        async def receive() -> Message:
            if unread:
                return {"type": "http.request", "body": unread.pop(), "more_body": False}
            await asyncio.Event().wait()  # that the client has gone arrives as a cancellation
            raise AssertionError("it waits for ever")

        async def send(message: Message) -> None:
            self._pipe.write(number, "send", message)
            await self._sent[number].acquire()  # a client that reads slowly must not fill the memory

        known: Known | None = None
        try:
            await self._app(scope, receive, send)
            known = {name: value for name, value in scope["state"].items() if isinstance(value, str)}
        except Exception:
            log.exception("a large request crashed")
        finally:
            del self._tasks[number], self._sent[number]
            self._pipe.write(number, "end", known)
