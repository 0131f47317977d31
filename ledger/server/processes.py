"""Serve with several processes that accept connections from one socket; one that dies is started again."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Final

from ledger.errors import LedgerError, Unavailable
from ledger.server.service_settings import ServiceSettings
from ledger.server.serving import serve_from
from ledger.server.traffic.metrics import SHARED_FOLDER, forget_process
from ledger.settings import Settings
from ledger.stores.factory import open_store

log = logging.getLogger("ledger.server")

#: Not fork: the child would share the connections and locks of its parent.
_context = get_context("spawn")
#: Before a process is started again, so that one that always dies does not take the machine; doubled by each failure.
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 8.0
_CLOSE_S: Final = 15.0  # how long a process may take to close what it opened, after its requests have finished


class Processes:
    """The processes of a service, by number. Only number 0 does the background work."""

    def __init__(
        self, listeners: Sequence[socket.socket], settings: Settings, service_settings: ServiceSettings, number: int
    ) -> None:
        self._listeners = listeners
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
                for number, connection in enumerate(started):
                    refused = await self._until_it_serves(number, connection)
                    if refused:
                        raise Unavailable(refused)
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
            args=(self._listeners, self._settings, self._service_settings.model_copy(update=changed), sender),
            name=f"memory-ledger-{number}",
        )
        process.start()
        sender.close()
        self._running[number:] = [process, *self._running[number + 1 :]]
        return receiver

    async def _until_it_serves(self, number: int, connection: Connection) -> str:
        """Return why process *number* did not start; empty if it serves, or if all are to stop."""
        with connection:
            if not await self._is_readable(connection.fileno()):
                return ""
            try:
                return str(connection.recv())
            except EOFError:
                pass
        return f"a process ended with exit code {await self._exit_code(number)} while it started"

    async def _watch(self, number: int) -> None:
        """Start process *number* again whenever it ends, with growing pauses if it cannot start."""
        while await self._is_readable(self._running[number].sentinel):
            code = await self._exit_code(number)
            log.error("process %d of the service ended with exit code %d and is started again", number, code)
            forget_process(self._running[number].pid)
            pause_s = _PAUSE_S
            while not await self._stops_within(pause_s):
                refused = await self._until_it_serves(number, self._start(number))
                if self._stopping.is_set():
                    return
                if not refused:
                    log.warning("process %d of the service serves again", number)
                    break
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                log.error("process %d did not start: %s; the next try is in %d s", number, refused, pause_s)

    async def _exit_code(self, number: int) -> int:
        process = self._running[number]
        await asyncio.to_thread(process.join)  # its end of a pipe closes a moment before it ends
        return int(process.exitcode)

    async def _is_readable(self, file: int) -> bool:
        """Wait until *file* can be read, or was closed by the process at its other end; False if all are to stop."""
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(file, readable.set)
        waits = [asyncio.ensure_future(event.wait()) for event in (readable, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(file)
            for wait in waits:
                wait.cancel()
        return not self._stopping.is_set()

    async def _stops_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    async def _stop(self) -> None:
        """Let the processes finish, each as long as the service may take to stop."""
        for process in self._running:
            process.terminate()
        until_s = time.monotonic() + self._service_settings.drain_s + self._service_settings.shutdown_grace_s + _CLOSE_S
        for process in self._running:
            await asyncio.to_thread(process.join, max(0.0, until_s - time.monotonic()))
            process.kill()

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
    listeners: Sequence[socket.socket], settings: Settings, service_settings: ServiceSettings, started: Connection
) -> None:
    def answer(refused: str) -> None:
        if not started.closed:
            started.send(refused)
            started.close()

    parent = parent_process()
    assert parent is not None, "it runs in a child"
    lives = parent.sentinel

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def stop() -> None:  # once: a second signal would not let this process close what it opened
            loop.remove_reader(lives)
            os.kill(os.getpid(), signal.SIGTERM)

        loop.add_reader(lives, stop)  # a parent that was killed cannot tell its children to stop
        store = await open_store(settings, served=True, start=False)  # only the parent starts an embedded server
        try:
            await serve_from(listeners, settings, service_settings, store=store, ready=lambda: answer(""))
        finally:
            await store.close()

    try:
        asyncio.run(run())
    except LedgerError as fault:
        answer(str(fault))
    finally:
        if not parent.is_alive() and SHARED_FOLDER in os.environ:
            shutil.rmtree(os.environ[SHARED_FOLDER], ignore_errors=True)
