"""A program that has the embedded ledger open starts its server again, once, whatever ended it. Source: trust P-13."""

import asyncio
import logging
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from ledger import MemoryLedger, SyncMemoryLedger
from ledger.errors import DatabaseUnavailable
from ledger.stores import factory
from ledger.stores.embedded.idle_stop import stop_if_idle
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.factory import prepare
from tests.support.databases import server_folder
from tests.support.killable_server import kill
from tests.support.patience import within

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

RESTARTED_WITHIN_S = 3.0
WRITERS = 8


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """A migrated server in a folder of its own."""
    with server_folder() as folder:
        found = EmbeddedServer(folder / "data")
        prepare(found)
        yield found
        if found.data_dir.exists():
            found.stop()


def stop_unused(server: EmbeddedServer) -> None:
    """Stop it as its watch does when nobody is connected any more."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    until = time.monotonic() + 10
    while not stop_if_idle(server, -1):
        assert time.monotonic() < until
        time.sleep(0.02)


ENDS: dict[str, Callable[[EmbeddedServer], object]] = {
    "all its processes killed": kill,
    "memory-ledger db stop": EmbeddedServer.stop,
    "the stop of an unused server": stop_unused,
}


@pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))
def test_the_next_call_starts_the_server_again(
    server: EmbeddedServer, end: Callable[[EmbeddedServer], object], caplog: pytest.LogCaptureFixture
) -> None:
    with SyncMemoryLedger.open(data_dir=server.data_dir) as ledger:
        for number in range(3):
            ledger.add_user_message("s", str(number))
            end(server)
            started = time.monotonic()
            with caplog.at_level(logging.WARNING, "ledger"):
                calls = [lambda: ledger.get_context("s"), ledger.list_sessions, lambda: ledger.search("1")]
                calls[number]()
            assert time.monotonic() - started < within(RESTARTED_WITHIN_S)
            assert caplog.text.count("was started again") == number + 1
        assert [entry.content for entry in ledger.get_active_entries("s")] == ["0", "1", "2"]


def test_a_program_that_starts_nothing_again_is_caught(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the restart every later call fails."""
    monkeypatch.setattr(factory, "_restart", lambda server, idle_s: None)
    with SyncMemoryLedger.open(data_dir=server.data_dir) as ledger:
        ledger.add_user_message("s", "hello")
        server.stop()
        for _ in range(3):
            with pytest.raises(DatabaseUnavailable):
                ledger.list_sessions()


async def test_callers_of_one_process_start_it_once(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    starts: list[float] = []
    launch = EmbeddedServer._launch
    monkeypatch.setattr(EmbeddedServer, "_launch", lambda self: (starts.append(time.monotonic()), launch(self))[1])
    async with MemoryLedger.open(data_dir=server.data_dir) as ledger:
        await ledger.add_user_message("s", "hello")
        kill(server)
        await asyncio.gather(*(ledger.add_user_message(f"s{number}", "hello") for number in range(20)))
    assert len(starts) == 1


def test_data_that_was_removed_is_not_replaced_by_an_empty_database(server: EmbeddedServer) -> None:
    with SyncMemoryLedger.open(data_dir=server.data_dir) as ledger:
        ledger.add_user_message("s", "hello")
        kill(server)
        shutil.rmtree(server.data_dir)
        with pytest.raises(DatabaseUnavailable, match="has no database any more"):
            ledger.list_sessions()
    assert not server.data_dir.exists()


class Writer:
    """A process that writes, and what it printed."""

    def __init__(self, server: EmbeddedServer, name: str) -> None:
        self.acknowledged: list[str] = []
        self.errors: list[str] = []
        self.log: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.embedded_writing_process", str(server.data_dir), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_log)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                (self.errors if line.startswith("!") else self.acknowledged).append(line.strip())

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.log.extend(lines)

    def end(self) -> None:
        """Let it end, and wait for that."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
        for reader in self._readers:
            reader.join()


@contextmanager
def writing(server: EmbeddedServer) -> Iterator[list[Writer]]:
    """Yield processes that write; end them."""
    with ExitStack() as stack:
        writers = [Writer(server, f"writer-{number}") for number in range(WRITERS)]
        for writer in writers:
            stack.callback(writer.end)
        go_on(writers, within_s=60)
        yield writers


def go_on(writers: list[Writer], *, within_s: float) -> float:
    """Wait until each of *writers* got an acknowledgement; return after how many seconds."""
    started = time.monotonic()
    before = [len(writer.acknowledged) for writer in writers]
    while not all(len(writer.acknowledged) > count for writer, count in zip(writers, before, strict=True)):
        late = [writer.errors[-1:] for writer in writers]
        assert time.monotonic() < started + within_s, f"a writer does not go on: {late}"
        time.sleep(0.01)
    return time.monotonic() - started


def killed_under_writers(server: EmbeddedServer, seed: int, *, times: int) -> None:
    """Kill all processes of the server again and again; every writer goes on, and nothing is lost or doubled."""
    chance = random.Random(seed)
    waits = []
    with writing(server) as writers:
        for _ in range(times):
            time.sleep(chance.uniform(0.1, 1.0))
            kill(server)
            waits.append(go_on(writers, within_s=within(RESTARTED_WITHIN_S + 2)))
    errors = sum(len(writer.errors) for writer in writers)
    starts = sum("was started again" in line for writer in writers for line in writer.log)
    with SyncMemoryLedger.open(data_dir=server.data_dir) as ledger:
        total = 0
        for number, writer in enumerate(writers):
            stored = [entry.content for entry in ledger.get_transcript(f"writer-{number}")]
            assert len(set(stored)) == len(stored)
            assert stored[: len(writer.acknowledged)] == writer.acknowledged
            assert len(stored) <= len(writer.acknowledged) + 1, "at most the last one had no answer"
            total += len(stored)
            assert ledger.verify(f"writer-{number}").ok
    print(f"{times} kills: {total} messages, {errors} errors told, longest wait {max(waits):.1f} s, {starts} starts")
    assert starts == times, "once for all processes"


def test_eight_processes_go_on_after_kills_of_the_server(server: EmbeddedServer, seed: int) -> None:
    killed_under_writers(server, seed, times=3)


@pytest.mark.slow
def test_eight_processes_go_on_after_twenty_kills_of_the_server(server: EmbeddedServer, seed: int) -> None:
    killed_under_writers(server, seed, times=20)
