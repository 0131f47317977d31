"""What a killed test process leaves behind is ended and removed by a process that outlives it.

A test process that is killed runs no cleanup. So with its first folder of a server it starts a watcher, which reads a
pipe: each line names a folder, and the pipe ends when the test process does, however it does. Then the watcher ends
the servers of the folders that are still there, and everything that the test process started, and removes the folders.
"""

import atexit
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import psutil

#: In the environment of everything that a test process starts.
MARK: Final = "TEST_STARTED_BY"
_SERVERS_S: Final = 10.0
_FOLDERS_S: Final = 10.0


def remove_if_killed(folder: Path) -> None:
    """Have *folder* removed, and its servers ended, when this process is gone and has left it there."""
    pipe = _watcher(os.getpid()).stdin
    assert pipe is not None
    pipe.write(f"{folder}\n".encode())


@cache
def _watcher(owner: int) -> subprocess.Popen[bytes]:
    """Start the watcher of process *owner*, which is this one: a forked process has one of its own."""
    os.environ[MARK] = f"{owner}-{secrets.token_hex(4)}"
    started = subprocess.Popen(
        [sys.executable, __file__, os.environ[MARK]],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,  # Ctrl-C in a terminal must not reach it
        env={name: value for name, value in os.environ.items() if name != MARK},
    )
    atexit.register(_dismiss, owner, started)
    return started


def _dismiss(owner: int, watcher: subprocess.Popen[bytes]) -> None:
    """Let *watcher* end before the process that it watches does, as this one ends in order."""
    if os.getpid() == owner and watcher.stdin is not None:
        watcher.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            watcher.wait(_SERVERS_S)


def _end_servers(folder: Path) -> None:
    """End the servers whose data is below *folder*, at once, but so that they remove their shared memory."""
    found = []
    for lock in folder.glob("**/postmaster.pid"):
        with suppress(OSError, ValueError, IndexError, psutil.NoSuchProcess):
            process = psutil.Process(int(lock.read_text().split()[0]))
            if "postgres" in process.name():
                process.send_signal(signal.SIGQUIT)
                found.append(process)
    _, alive = psutil.wait_procs(found, timeout=_SERVERS_S)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _end_processes(mark: str) -> None:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                process.kill()


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _FOLDERS_S
    while folder.exists() and time.monotonic() < deadline:  # a server that ends may still write
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


if __name__ == "__main__":
    folders = [Path(line) for line in sys.stdin.read().splitlines()]
    left = [folder for folder in folders if folder.exists()]
    for each in left:
        _end_servers(each)
    _end_processes(sys.argv[1])
    for each in left:
        _remove(each)
