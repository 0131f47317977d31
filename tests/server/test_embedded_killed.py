"""A service starts the embedded PostgreSQL again, at once if it died, else by the next request (trust P-13)."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ledger.errors import DatabaseUnavailable
from ledger.settings import Settings
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.factory import open_store
from tests.support import http_client
from tests.support.databases import server_folder
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "postgres" / "postmaster.pid").read_text().split()[0]))


def test_a_killed_database_is_back_and_nothing_is_lost(tmp_path: Path) -> None:
    with server_folder() as folder:
        database = EmbeddedServer(folder / "data")
        process = ServiceProcess(tmp_path, "", MEMORY_LEDGER_DATA_DIR=str(database.data_dir))
        try:
            process.wait_until_it_serves()
            entries = f"{process.url}/v1/sessions/s/entries"
            hello = {"entries": [{"role": "user", "content": "hello"}]}
            assert http_client.post(entries, json=hello).status_code == 201
            killed = postmaster(folder / "data")
            killed.send_signal(signal.SIGKILL)
            killed.wait(10)
            wait_for(lambda: database.status().running)
            database.start()  # waits until it accepts connections
            statuses, until = [], time.monotonic() + 2
            while 200 not in statuses:
                assert time.monotonic() < until
                statuses.append(http_client.get(f"{process.url}/v1/sessions/s/stats").status_code)
                time.sleep(0.05)
            assert set(statuses) <= {200, 503}
            assert http_client.get(f"{process.url}/v1/sessions/s/state").json()["entries"][0]["content"] == "hello"
        finally:
            process.process.kill()
            process.process.wait()
            database.stop()
    assert "started again" in process.errors.read_text()


@pytest.mark.slow
def test_a_process_started_again_starts_a_stopped_database_again(tmp_path: Path) -> None:
    with server_folder() as folder:
        database = EmbeddedServer(folder / "data")
        process = ServiceProcess(tmp_path, "", "--workers", "2", MEMORY_LEDGER_DATA_DIR=str(database.data_dir))
        try:
            wait_for(lambda: "listening" in process.output.read_text())
            database.stop()
            children = psutil.Process(process.process.pid).children()
            min((child for child in children if "spawn_main" in str(child.cmdline())), key=lambda it: it.pid).kill()
            wait_for(lambda: "serves again" in process.errors.read_text())
            assert database.status().running
            for _ in range(20):
                assert http_client.get(f"{process.url}/v1/sessions").status_code == 200
        finally:
            process.process.terminate()
            process.process.wait(20)
            database.stop()


async def test_a_store_may_be_opened_without_starting_its_server(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable):
        await open_store(Settings(data_dir=tmp_path / "data"), start=False)
    assert not list(tmp_path.iterdir())
