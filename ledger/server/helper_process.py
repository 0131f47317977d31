"""A process that answers requests for another one, over a socket that only these two have: see `helper_work`.

No library does what it needs: an answer goes on part by part, as fast as its client reads, a client that leaves ends
the work on its request alone, and many requests share the application that the process opened. Of an executor of
processes (concurrent.futures, loky, pebble, `anyio.to_process`) a call has one result at its end. The first two cannot
stop one that runs; the others kill its process, so that the next call opens the application again. A second server
on a Unix socket could stream, but what is known of the caller, and became known, would have to pass through headers.
"""

import asyncio
import itertools
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing import get_context
from typing import Any, Final

from starlette.types import Scope, Send

from ledger.errors import LedgerError, Unavailable
from ledger.server.helper_work import Frame, HelperPipe, Known, OpenApp, help_over

log = logging.getLogger("ledger.server")

_context = get_context("spawn")  # not fork: see `processes`
#: How long a cancelled request may take to end. What does not wait cannot be cancelled: then the helper is killed.
_CANCEL_S: Final = 1.0
_CLOSE_S: Final = 5.0
#: After how long without a request the helper ends: it has the size of a service.
IDLE_S: Final = 300.0


class HelperProcess:
    """Answers requests in a process of its own, which the first one starts and which ends after *idle_s* without one.

    It starts again after it died or ended.
    """

    def __init__(self, open_app: OpenApp, *arguments: object, idle_s: float = IDLE_S) -> None:
        self._open_app = open_app
        self._arguments = arguments
        self._idle_s = idle_s
        self._starting = asyncio.Lock()
        self._link: _Link | None = None
        self._answering = 0
        self._begun: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    async def answer(self, scope: Scope, body: bytes, send: Send) -> Known:
        """Answer a request whose *scope* can be pickled, through *send*; return what became known of it.

        Raises:
            Unavailable: the process did not start, or died.
            LedgerError: the application crashed.
        """
        async with self._used() as link:
            return await link.answer(scope, body, send)

    @property
    def running(self) -> bool:
        """Whether a request would be answered without starting the process first."""
        return self._link is not None and not self._link.closed

    def start(self) -> None:
        """Begin to start the process, unless it runs or starts already; the log says if it did not."""
        if not self.running and (self._begun is None or self._begun.done()):
            self._begun = asyncio.create_task(self._begin())

    async def _begin(self) -> None:
        try:
            async with self._used():
                pass
        except Unavailable as fault:
            log.error("the process for large requests did not start: %s", fault)

    @asynccontextmanager
    async def _used(self) -> AsyncIterator["_Link"]:
        self._answering += 1
        try:
            async with self._starting:
                if self._link is None or self._link.closed:
                    self._link = await _Link.open(self._open_app, self._arguments)
            yield self._link
        finally:
            self._answering -= 1
            if self._ending is not None:
                self._ending.cancel()
            self._ending = asyncio.create_task(self._end_when_idle())

    async def close(self) -> None:
        """End the process."""
        if self._begun is not None:
            self._begun.cancel()
            await asyncio.gather(self._begun, return_exceptions=True)
        if self._ending is not None:
            self._ending.cancel()
        if self._link is not None:
            await self._link.close()

    async def _end_when_idle(self) -> None:
        await asyncio.sleep(self._idle_s)
        async with self._starting:  # a request that comes meanwhile starts another process
            link = self._link
            if self._answering == 0 and link is not None:
                self._link = None
                await asyncio.shield(link.close())


class _Link:
    """A running helper, seen from the process that asks."""

    def __init__(self, process: Any, pipe: HelperPipe) -> None:
        self.closed = False
        self._process = process
        self._pipe = pipe
        self._numbers = itertools.count(1)
        self._frames: dict[int, asyncio.Queue[Frame]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, open_app: OpenApp, arguments: tuple[object, ...]) -> "_Link":
        ours, theirs = socket.socketpair()
        with theirs:
            process = _context.Process(
                target=help_over, args=(open_app, arguments, theirs), name="memory-ledger-helper"
            )
            await asyncio.to_thread(process.start)
        pipe = await HelperPipe.over(ours)
        try:
            _, _, refused = await pipe.read()
        except BaseException as fault:
            pipe.close()
            if isinstance(fault, asyncio.IncompleteReadError):
                raise Unavailable("the process for large requests ended while it started; try again") from None
            raise
        if refused:
            pipe.close()
            raise Unavailable(refused)
        return cls(process, pipe)

    async def answer(self, scope: Scope, body: bytes, send: Send) -> Known:
        number, frames = next(self._numbers), asyncio.Queue[Frame]()
        self._frames[number] = frames
        ended = False
        try:
            self._pipe.write(number, "request", (scope, body))
            while True:
                _, kind, content = await frames.get()
                if kind == "end":
                    ended = True
                    return _known(content)
                if kind == "died":
                    raise Unavailable("the process that answered ended; the request may have been carried out")
                await send(content)
                self._pipe.write(number, "sent")
        finally:
            if ended or self.closed:
                self._frames.pop(number, None)
            else:
                self._cancel(number)

    def _cancel(self, number: int) -> None:
        self._pipe.write(number, "cancel")

        def kill() -> None:
            if number in self._frames and not self.closed:
                log.error("the process for large requests did not stop a request and was ended")
                self._process.kill()

        asyncio.get_running_loop().call_later(_CANCEL_S, kill)

    async def _read(self) -> None:
        try:
            while True:
                frame = await self._pipe.read()
                number, kind, _ = frame
                frames = self._frames.get(number)
                if frames is not None:
                    frames.put_nowait(frame)
                if kind == "end":
                    self._frames.pop(number, None)
        except (OSError, asyncio.IncompleteReadError):
            self.closed = True
            self._pipe.close()
            for frames in self._frames.values():
                frames.put_nowait((0, "died", None))

    async def close(self) -> None:
        self._pipe.close()
        await self._reading
        await asyncio.to_thread(self._process.join, _CLOSE_S)
        self._process.kill()


def _known(content: Known | None) -> Known:
    if content is None:
        raise LedgerError
    return content
