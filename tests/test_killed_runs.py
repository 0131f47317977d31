"""A killed test run leaves no server, no process and no folder behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.support.patience import within

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.processes]
ROOT = Path(__file__).parents[1]

#: A test that starts a server and another process, says where, and waits to be killed.
WAITING = """
import os, subprocess, time
from pathlib import Path

from tests.support.databases import embedded, server_folder


def test_waiting():
    with server_folder() as folder, embedded(folder):
        beside = subprocess.Popen(["sleep", "300"])
        postmaster = (folder / "postgres" / "postmaster.pid").read_text().split()[0]
        told = Path(os.environ["TOLD"])
        told.with_suffix(".new").write_text(f"{os.getpid()} {postmaster} {beside.pid} {folder}")
        told.with_suffix(".new").rename(told)
        time.sleep(300)
"""


def _await(reached: Callable[[], bool], seconds: float, message: str) -> None:
    deadline = time.monotonic() + within(seconds)
    while not reached():
        assert time.monotonic() < deadline, message
        time.sleep(0.05)


def _gone(process: int) -> bool:
    return not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("killed", ["worker", "controller", "process alone"])
def test_what_a_killed_run_started_is_gone(killed: str, tmp_path: Path) -> None:
    test, told = tmp_path / "test_waiting.py", tmp_path / "told"
    test.write_text(WAITING)
    workers = ["-p", "no:xdist"] if killed == "process alone" else ["-n", "1", "--max-worker-restart", "0"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers, "-o", "addopts=", str(test)]
    environment = {**os.environ, "TOLD": str(told), "PYTHONPATH": str(ROOT)}
    known = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    with subprocess.Popen(
        command, cwd=tmp_path, env=known, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        try:
            _await(lambda: told.exists() or run.poll() is not None, 60, "the server did not start")
            worker, postmaster, beside, folder = told.read_text().split()
            os.kill(int(worker) if killed == "worker" else run.pid, signal.SIGKILL)
            for process, name in ((worker, "worker"), (postmaster, "server"), (beside, "other process")):
                _await(lambda process=int(process): _gone(process), 40, f"the {name} still runs")
            _await(lambda: not Path(folder).exists(), 20, f"{folder} is still there")
        finally:
            run.kill()
