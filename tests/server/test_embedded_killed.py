"""A service on the embedded PostgreSQL starts it again when it dies. Source: trust P-13."""

import signal
import time
from pathlib import Path

import psutil
import pytest

from ledger.stores.embedded import EmbeddedServer
from tests.support import http_client
from tests.support.databases import server_folder
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]


def postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "postgres" / "postmaster.pid").read_text().split()[0]))


def test_a_killed_database_is_back_and_nothing_is_lost(tmp_path: Path) -> None:
    with server_folder() as folder:
        process = ServiceProcess(tmp_path, "", MEMORY_LEDGER_DATA_DIR=str(folder / "data"))
        try:
            process.wait_until_it_serves()
            entries = f"{process.url}/v1/sessions/s/entries"
            hello = {"entries": [{"role": "user", "content": "hello"}]}
            assert http_client.post(entries, json=hello).status_code == 201
            killed = postmaster(folder / "data")
            killed.send_signal(signal.SIGKILL)
            killed.wait(10)
            statuses, until = [], time.monotonic() + 60
            while 200 not in statuses and time.monotonic() < until:
                statuses.append(http_client.get(f"{process.url}/v1/sessions/s/stats").status_code)
                time.sleep(0.05)
            assert set(statuses) <= {200, 503}
            assert http_client.get(f"{process.url}/v1/sessions/s/state").json()["entries"][0]["content"] == "hello"
        finally:
            process.process.kill()
            process.process.wait()
            EmbeddedServer(folder / "data").stop()
    assert "started again" in process.errors.read_text()
