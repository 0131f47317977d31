"""Stop an embedded server that nothing uses: ``python -m ledger.stores.embedded.idle_stop DATA_DIR SECONDS``.

That process is started with the server, looks at it now and then, and ends with it.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from ledger.errors import DatabaseUnavailable
from ledger.events.clock import SystemClock
from ledger.stores.embedded.server import EmbeddedServer

_OFTEN: Final = 10  # looks in the time that it waits
_LONGEST_S: Final = 30.0


def stop_when_idle(server: EmbeddedServer, idle_s: float) -> None:
    """Start a process that stops *server* after *idle_s* seconds without use; with 0 it keeps running."""
    if not idle_s or not sys.executable:  # Python may be embedded in another program
        return
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH"))))
    module = [sys.executable, "-m", "ledger.stores.embedded.idle_stop", str(server.data_dir), str(idle_s)]
    subprocess.run(
        ["/bin/sh", "-c", '"$@" &', "sh", *module],  # a child of this process would stay behind as a zombie
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C in a terminal must not reach it
    )


def stop_if_idle(server: EmbeddedServer, idle_s: float) -> bool:
    """Stop *server* if nobody asked for it for *idle_s* seconds and none is connected; return whether it is down.

    Raises:
        DatabaseUnavailable: it did not stop.
    """
    with server.lock():
        postmaster = server.postmaster()
        if postmaster is None:
            return True
        server.stopping.touch()
        try:
            if SystemClock().now().timestamp() - server.used.stat().st_mtime < idle_s or _has_clients(postmaster):
                return False
            server.halt()
            return True
        finally:
            server.stopping.unlink(missing_ok=True)


def _has_clients(postmaster: psutil.Process) -> bool:
    """Tell whether anyone is connected to the socket; if that cannot be seen, somebody may be."""
    try:
        return any("[local]" in " ".join(process.cmdline()) for process in postmaster.children())
    except psutil.Error:
        return True


def _watch(server: EmbeddedServer, idle_s: float) -> None:
    """Return when *server* is down; stop it after *idle_s* seconds without use, or connection at any look."""
    while (postmaster := server.postmaster()) is not None:
        with suppress(psutil.TimeoutExpired):
            postmaster.wait(min(idle_s / _OFTEN, _LONGEST_S))
            return
        if _has_clients(postmaster):
            server.used.touch()
        with suppress(DatabaseUnavailable):  # it is tried again
            stop_if_idle(server, idle_s)


if __name__ == "__main__":
    _watch(EmbeddedServer(sys.argv[1]), float(sys.argv[2]))
