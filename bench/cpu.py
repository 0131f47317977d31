"""CPU time of this process and of the server's backends, and a fixed piece of pure Python to compare with."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

_BACKENDS: Final = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class ProcessCpu:
    """The CPU time of this process."""

    def seconds(self) -> float:
        """Return the seconds so far, of all threads."""
        return time.process_time()


class ClientAndServerCpu:
    """The CPU time of this process and of the backends of one database; open its connections before."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._backends: dict[int, int] = {}
        self._ended = 0

    @classmethod
    @contextmanager
    def open(cls, url: str) -> "Iterator[ClientAndServerCpu]":
        """Connect; this needs a server on this machine, and Linux."""
        if not Path("/proc/self/schedstat").exists():
            raise RuntimeError("the CPU time of backends is read from /proc/PID/schedstat, which only Linux has")
        with psycopg.connect(url, autocommit=True) as connection:
            yield cls(connection)

    def seconds(self) -> float:
        """Return the seconds so far; a backend that has ended counts as it was last seen."""
        own = time.process_time()
        alive = {pid: _nanoseconds(pid) for (pid,) in self._connection.execute(_BACKENDS, prepare=True)}
        self._ended += sum(spent for pid, spent in self._backends.items() if pid not in alive)
        self._backends = alive
        return own + (self._ended + sum(alive.values())) / 1e9


def _nanoseconds(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def pure_python() -> int:
    """Do a fixed piece of work in pure Python, with which the speed of the machine at this moment is compared."""
    total = 0
    for number in range(1_000):
        total += number * number % 7
    return total


def waited_share() -> float:
    """Return which part of the time pure Python waits for a processor now: about 0 on a machine with nothing else."""
    started, spent = time.perf_counter(), time.process_time()
    for _ in range(1_000):
        pure_python()
    return max(0.0, 1 - (time.process_time() - spent) / (time.perf_counter() - started))
