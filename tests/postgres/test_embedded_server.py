"""The embedded server starts on demand, once for all, survives what happens to it, or says why it cannot.

Source: trust D-9, L-4, P-13; style §3.
"""

import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from ledger.cli import command_table  # noqa: F401 - registers them
from ledger.errors import DatabaseUnavailable, MigrationNeeded
from ledger.memory import MemoryLedger
from ledger.stores.embedded.folders import lost_socket
from ledger.stores.embedded.server import EmbeddedServer, bundled_binaries
from ledger.sync import SyncMemoryLedger
from tests.support.databases import server_folder

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

OPENERS = 6


def open_and_write(data_dir: Path, number: int, start: Barrier) -> None:
    """Open the ledger in *data_dir* when all others do, and write one message; run as a process of its own."""
    start.wait()
    with SyncMemoryLedger.open(data_dir=data_dir) as ledger:
        ledger.add_user_message("together", f"from process {number}")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server in a folder of its own, which nothing has started yet."""
    with server_folder() as folder:
        found = EmbeddedServer(folder / "data")
        yield found
        found.stop()


@pytest.fixture(scope="module")
def opened_at_once(server: EmbeddedServer) -> list[int | None]:
    """The exit codes of processes that all open the new data directory at the same moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "ledger.stores.postgres.migration"])
    start = context.Barrier(OPENERS)
    openers = [context.Process(target=open_and_write, args=(server.data_dir, each, start)) for each in range(OPENERS)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join()
    return [opener.exitcode for opener in openers]


@pytest.fixture
def running(server: EmbeddedServer, opened_at_once: list[int | None]) -> EmbeddedServer:
    """The server, running, with what the processes wrote."""
    server.start()
    return server


def postmasters(server: EmbeddedServer) -> list[psutil.Process]:
    cluster = str(server.data_dir / "postgres")
    found = [process for process in psutil.process_iter(["cmdline"]) if cluster in (process.info["cmdline"] or ())]
    return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]


async def written(server: EmbeddedServer) -> set[str]:
    async with MemoryLedger.open(data_dir=server.data_dir) as ledger:
        return {entry.content for entry in await ledger.get_active_entries("together")}


def memory_ledger(*arguments: str) -> dict[str, Any]:
    """Return what a command, run as users run it, prints as JSON."""
    program = Path(sys.executable).with_name("memory-ledger")
    done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.full
async def test_processes_that_open_a_new_ledger_at_once_share_one_server(
    server: EmbeddedServer, opened_at_once: list[int | None]
) -> None:
    assert opened_at_once == [0] * OPENERS
    assert len(postmasters(server)) == 1
    assert await written(server) == {f"from process {number}" for number in range(OPENERS)}


def test_status_tells_where_the_server_is(running: EmbeddedServer) -> None:
    answers = memory_ledger("--data-dir", str(running.data_dir), "db", "status")
    assert set(answers) == {"running", "url", "data_dir", "postgres_version"}
    assert answers["running"] is True
    assert answers["data_dir"] == str(running.data_dir)
    assert answers["postgres_version"].startswith("18.")
    assert "role" not in answers["url"]
    with psycopg.connect(answers["url"]) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)


@pytest.mark.full
async def test_a_stopped_server_starts_on_demand(running: EmbeddedServer) -> None:
    where = ("--data-dir", str(running.data_dir))
    assert memory_ledger(*where, "db", "stop") == {"stopped": True}
    assert postmasters(running) == []
    assert memory_ledger(*where, "db", "status")["running"] is False
    assert running.stop() is False
    assert len(await written(running)) == OPENERS
    assert len(postmasters(running)) == 1
    assert memory_ledger(*where, "db", "start")["running"] is True
    assert running.start() is False


async def test_a_killed_server_starts_again_with_everything(running: EmbeddedServer) -> None:
    (postmaster,) = postmasters(running)
    postmaster.send_signal(signal.SIGKILL)
    postmaster.wait(10)
    assert (running.data_dir / "postgres" / "postmaster.pid").exists()
    assert running.status().running is False
    assert len(await written(running)) == OPENERS


async def test_a_killed_server_is_told_from_a_stopped_one_and_each_starts_again(running: EmbeddedServer) -> None:
    assert running.died is False, "it lives"
    assert running.start_again() is False
    (postmaster,) = postmasters(running)
    postmaster.send_signal(signal.SIGKILL)
    postmaster.wait(10)
    assert running.died is True
    assert running.start_again() is True
    assert len(postmasters(running)) == 1
    running.stop()
    assert running.died is False
    assert running.start_again() is True
    assert len(await written(running)) == OPENERS


async def test_a_stale_pid_file_with_the_number_of_another_program_is_no_server(running: EmbeddedServer) -> None:
    pid_file = running.data_dir / "postgres" / "postmaster.pid"
    lines = pid_file.read_text().splitlines(keepends=True)
    running.stop()
    pid_file.write_text("".join([f"{os.getpid()}\n", *lines[1:]]))
    assert running.status().running is False
    assert len(await written(running)) == OPENERS


async def test_a_data_directory_may_move_even_to_a_path_too_long_for_a_socket(running: EmbeddedServer) -> None:
    running.stop()
    far = running.data_dir.with_name("far" * 40)
    running.data_dir.rename(far)
    moved = EmbeddedServer(far)
    try:
        assert not moved.socket_dir.is_relative_to(far)
        assert len(await written(moved)) == OPENERS
        moved.stop()
    finally:
        shutil.rmtree(moved.socket_dir, ignore_errors=True)
        far.rename(running.data_dir)


async def test_an_older_schema_is_left_alone(running: EmbeddedServer) -> None:
    with psycopg.connect(running.url) as mighty:
        (revision,) = mighty.execute("SELECT version_num FROM ledger.alembic_version").fetchone() or ("",)
        mighty.execute("UPDATE ledger.alembic_version SET version_num = '0003'")
    try:
        with pytest.raises(MigrationNeeded, match="from before the first release"):
            await written(running)
    finally:
        with psycopg.connect(running.url) as mighty:
            mighty.execute("UPDATE ledger.alembic_version SET version_num = %s", (revision,))
    assert len(await written(running)) == OPENERS


async def test_threads_that_open_a_new_database_at_once_all_succeed(running: EmbeddedServer) -> None:
    with psycopg.connect(running.url.replace("/memory_ledger?", "/postgres?"), autocommit=True) as mighty:
        mighty.execute("ALTER DATABASE memory_ledger RENAME TO renamed")
        try:
            found = await asyncio.gather(*(written(running) for _ in range(4)))
            assert found == [set()] * 4
        finally:
            mighty.execute("DROP DATABASE IF EXISTS memory_ledger WITH (FORCE)")
            mighty.execute("ALTER DATABASE renamed RENAME TO memory_ledger")


def test_settings_that_prevent_a_start_are_reported_as_the_server_reports_them(running: EmbeddedServer) -> None:
    running.stop()
    settings = running.data_dir / "postgres" / "postgresql.conf"
    sound = settings.read_text()
    settings.write_text(sound + "\nshared_buffers = plenty\n")
    try:
        with pytest.raises(DatabaseUnavailable, match="shared_buffers"):
            running.start()
    finally:
        settings.write_text(sound)


@pytest.mark.full
def test_a_server_that_begins_slowly_is_waited_for() -> None:
    """As on a machine with other work, where a program that was not used for a while is read from the disk first."""
    with server_folder() as folder:
        slow, real = folder / "slow" / "bin", bundled_binaries()
        slow.mkdir(parents=True)
        for name in ("lib", "share"):
            (slow.parent / name).symlink_to(real.parent / name)
        shutil.copy(real / "pg_ctl", slow)  # it starts the program that lies beside it
        (slow / "pg_isready").symlink_to(real / "pg_isready")
        (slow / "postgres").write_text(f'#!/bin/sh\ntest "$1" = -V || sleep 3\nexec {real}/postgres "$@"\n')
        (slow / "postgres").chmod(0o755)
        for place in (folder, slow.parent, slow):
            place.chmod(0o755)
        server = EmbeddedServer(folder / "data")
        with server.lock():
            server._initialise()
        server.binaries = slow
        assert server.start()
        server.stop()


def test_a_socket_that_was_not_made_yet_is_not_lost(tmp_path: Path) -> None:
    pid_file, socket = tmp_path / "postmaster.pid", tmp_path / ".s.PGSQL.5432"
    assert not lost_socket(tmp_path, socket.name)
    pid_file.write_text("17\n/data\n1\n5432\n")
    assert not lost_socket(tmp_path, socket.name)
    pid_file.write_text(f"17\n/data\n1\n5432\n{tmp_path}\n")
    assert lost_socket(tmp_path, socket.name)
    socket.touch()
    assert not lost_socket(tmp_path, socket.name)
