"""An embedded server that nobody uses stops by itself, never under a user's feet, and starts again unnoticed."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import psycopg
import pytest

from ledger.stores.embedded import idle_stop
from ledger.stores.embedded.idle_stop import stop_if_idle
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.factory import prepare
from ledger.sync import SyncMemoryLedger
from tests.support.databases import server_folder

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

LONG_AGO = (1_000_000_000, 1_000_000_000)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server in a folder of its own."""
    with server_folder() as folder:
        found = EmbeddedServer(folder / "data")
        yield found
        found.stop()


def unused(server: EmbeddedServer) -> None:
    """Let the last use of *server* be long ago."""
    os.utime(server.used, LONG_AGO)


def test_a_server_that_nobody_uses_stops_by_itself_and_starts_again_with_its_data(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_EMBEDDED_IDLE_S", "1")
    with SyncMemoryLedger.open(data_dir=server.data_dir) as ledger:
        ledger.add_user_message("s", "hello")
        postmaster = server.postmaster()
        assert postmaster is not None
        with pytest.raises(psutil.TimeoutExpired):
            postmaster.wait(2.5)  # it is used, though nothing happens
        assert len(ledger.get_active_entries("s")) == 1
    postmaster.wait(20)
    assert not server.stopping.exists()
    assert (server.data_dir / "postgres" / "postmaster.pid").exists() is False, "it ended in good order"
    with SyncMemoryLedger.open(data_dir=server.data_dir) as ledger:
        assert len(ledger.get_active_entries("s")) == 1
    server.stop()


def test_it_stops_neither_after_a_recent_use_nor_under_a_connection(server: EmbeddedServer) -> None:
    prepare(server)
    assert stop_if_idle(server, 60) is False
    unused(server)
    with psycopg.connect(server.url) as connection:
        connection.execute("SELECT 1")
        assert stop_if_idle(server, 60) is False
        connection.execute("SELECT 1")
    for _ in range(100):
        if stop_if_idle(server, 60):
            break
        threading.Event().wait(0.05)  # until the server has noticed that the client left
    assert server.postmaster() is None
    assert stop_if_idle(server, 60) is True


@pytest.mark.parametrize("protected", [True, False], ids=["as it is", "control"])
def test_who_asks_for_the_server_while_it_is_being_stopped_gets_a_running_one(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, protected: bool
) -> None:
    """The control has no mark: it answers that the server runs, which then stops."""
    prepare(server)
    unused(server)
    program = """
import sys
from ledger.stores.embedded.server import EmbeddedServer
server = EmbeddedServer(sys.argv[1])
print("asks", flush=True)
server.start()
"""
    has_clients, asking = idle_stop._has_clients, list[Any]()

    def asks_now(postmaster: psutil.Process) -> bool:
        if not protected:
            server.stopping.unlink()
        command = [sys.executable, "-c", program, server.data_dir]
        asking.append(subprocess.Popen(command, stdout=subprocess.PIPE))  # another process: a lock is of a process
        with asking[0].stdout as said:
            assert said.readline() == b"asks\n"
        waits = False
        try:
            asking[0].wait(1 if protected else 5)
        except subprocess.TimeoutExpired:
            waits = True
        assert waits == protected, "it waits for the end of the stop, if it sees the mark"
        return has_clients(postmaster)

    monkeypatch.setattr(idle_stop, "_has_clients", asks_now)
    assert stop_if_idle(server, 60) is True
    assert asking[0].wait(60) == 0
    assert (server.postmaster() is not None) == protected


def test_a_mark_that_a_dead_process_left_delays_nobody(server: EmbeddedServer) -> None:
    prepare(server)
    server.stopping.touch()
    server.start()
    assert not server.stopping.exists()


def test_a_server_without_a_limit_has_no_watcher(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_stop.subprocess, "run", lambda *a, **k: pytest.fail("a process was started"))
    idle_stop.stop_when_idle(server, 0)
