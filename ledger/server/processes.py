"""Serve with several processes that accept connections from one socket; one that dies is started again."""

import asyncio
import logging
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Final

from ledger.errors import LedgerError, Unavailable
from ledger.server.metrics import SHARED_FOLDER, forget_process
from ledger.server.settings import ServiceSettings
from ledger.settings import Settings

log = logging.getLogger("ledger.server")

#: Not fork: the child would share the connections and locks of its parent.
_context = get_context("spawn")
_PAUSE_S: Final = 1.0  # before a process is started again, so that one that always dies does not take the machine


class Processes:
    """The processes of a service, by number. Only number 0 does the background work."""

    def __init__(
        self, listener: socket.socket, settings: Settings, service_settings: ServiceSettings, number: int
    ) -> None:
        self._listener = listener
        self._settings = settings
        self._service_settings = service_settings
        self._number = number
        self._running: list[Any] = []
        self._stopping = asyncio.Event()

    async def run(self, *, ready: Callable[[], None]) -> None:
        """Run until a signal arrives, and call *ready* once all processes serve; then let them finish.

        Raises:
            Unavailable: a process could not start.
        """
        with _shared_metrics(self._service_settings), self._signals():
            try:
                started = [self._start(number) for number in range(self._number)]
                for connection in started:
                    await self._until_it_serves(connection)
                if not self._stopping.is_set():
                    ready()
                await asyncio.gather(*(self._watch(number) for number in range(self._number)))
            finally:
                await self._stop()

    def _start(self, number: int) -> Connection:
        receiver, sender = _context.Pipe(duplex=False)
        changed = {} if number == 0 else {"worker": False}
        process = _context.Process(
            target=_serve_in_child,
            args=(self._listener, self._settings, self._service_settings.model_copy(update=changed), sender),
            name=f"memory-ledger-{number}",
        )
        process.start()
        sender.close()
        self._running[number:] = [process, *self._running[number + 1 :]]
        return receiver

    async def _until_it_serves(self, connection: Connection) -> None:
        try:
            refused = await asyncio.to_thread(connection.recv)
        except EOFError:
            refused = "a process ended while it started"
        finally:
            connection.close()
        if refused and not self._stopping.is_set():
            raise Unavailable(refused)

    async def _watch(self, number: int) -> None:
        while not self._stopping.is_set():
            await self._until_it_ends(number)
            if self._stopping.is_set():
                return
            log.error("a process of the service died and is started again")
            forget_process(self._running[number].pid)
            await asyncio.sleep(_PAUSE_S)
            with suppress(Unavailable):  # it has ended, so the next turn starts it again
                await self._until_it_serves(self._start(number))

    async def _until_it_ends(self, number: int) -> None:
        """Return when the process has ended, or when all are to stop."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        sentinel = self._running[number].sentinel
        loop.add_reader(sentinel, ended.set)
        waits = [asyncio.ensure_future(event.wait()) for event in (ended, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(sentinel)
            for wait in waits:
                wait.cancel()

    async def _stop(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            await asyncio.to_thread(process.join)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop at a signal; a Ctrl-C in a terminal reaches the children too."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self._stopping.set)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


@contextmanager
def _shared_metrics(settings: ServiceSettings) -> Iterator[None]:
    """Let the processes count together, in files of a temporary folder, if metrics are on."""
    if not settings.metrics:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="memory-ledger-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[SHARED_FOLDER]


def _serve_in_child(
    listener: socket.socket, settings: Settings, service_settings: ServiceSettings, started: Connection
) -> None:
    from ledger.server.running import serve_from  # noqa: PLC0415 - it imports this module

    def answer(refused: str) -> None:
        if not started.closed:
            started.send(refused)
            started.close()

    async def run() -> None:
        parent = parent_process()
        if parent is not None:  # one that was killed cannot tell its children to stop
            loop = asyncio.get_running_loop()
            loop.add_reader(parent.sentinel, os.kill, os.getpid(), signal.SIGTERM)
        await serve_from(listener, settings, service_settings, ready=lambda: answer(""))

    try:
        asyncio.run(run())
    except LedgerError as fault:
        answer(str(fault))
