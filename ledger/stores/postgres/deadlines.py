"""Connections whose waits end: a server that is frozen, or waits for a standby that is gone, closes no connection.

A wait that is over, or was cancelled, closes the socket. It asks the server for no cancellation: a frozen one answers
nothing, and one that waits for its standby would count the commit as done on the primary alone (trust P-1).
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

import psycopg
from psycopg import waiting
from psycopg.conninfo import conninfo_to_dict

#: Half of it is for a connection, half for the answer.
DEFAULT_TIMEOUT_S: Final = 20.0
_INTERVAL_S: Final = 0.1  # between looks at the clock
_SHORTEST_CONNECT_S: Final = 2  # libpq's
_WAITS_FOR_STANDBY: Final = "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = %s"


class AnswerLate(psycopg.OperationalError):
    """The server did not answer in time; it is unknown whether it did what was asked."""


class NoConnection(TimeoutError):
    """The server gave no connection in time, and did not say why."""


class LivenessCheck:
    """Asks in the background whether a server works, again for each answer."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        self._ask = ask
        self._task: asyncio.Task[bool] | None = None

    def __call__(self) -> bool | None:
        """Return the answer; None if it is not known yet."""
        if self._task is None:
            self._task = asyncio.create_task(self._ask())
        if not self._task.done():
            return None
        answer, self._task = self._task.result(), None
        return answer

    def cancel(self) -> None:
        """Ask no longer."""
        if self._task is not None:
            self._task.cancel()


class AsyncConnection(psycopg.AsyncConnection[Any]):
    """A connection that is closed if an answer takes more than *answer_s* seconds, and *works* says so if it is set."""

    answer_s: float = DEFAULT_TIMEOUT_S / 2
    works: LivenessCheck | None = None

    async def wait(self, gen: Any, interval: float = _INTERVAL_S, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - psycopg's
        """See `psycopg.AsyncConnection.wait`."""
        limited = _limited(gen, self.answer_s if timeout is None else timeout, self.works)
        try:
            return await waiting.wait_async(limited, self.pgconn.socket, interval=interval)
        except (AnswerLate, asyncio.CancelledError):
            self.pgconn.finish()
            raise


class Connection(psycopg.Connection[Any]):
    """A connection that is closed if an answer takes more than *answer_s* seconds, and *works* says so if it is set."""

    answer_s: float = DEFAULT_TIMEOUT_S / 2
    works: Callable[[], bool] | None = None

    def wait(self, gen: Any, interval: float = _INTERVAL_S, timeout: float | None = None) -> Any:
        """See `psycopg.Connection.wait`."""
        limited = _limited(gen, self.answer_s if timeout is None else timeout, self.works)
        try:
            return waiting.wait(limited, self.pgconn.socket, interval=interval)
        except (AnswerLate, KeyboardInterrupt):
            self.pgconn.finish()
            raise


def connect(url: str, *, timeout_s: float = DEFAULT_TIMEOUT_S, takes_time: bool = False, **options: Any) -> Connection:
    """Return a connection for a command, with a deadline for each answer.

    With *takes_time* an answer may take as long as the server does something: a new connection asks it, every time
    that the deadline is over.

    Raises:
        psycopg.Error: there is no connection in time.
    """
    connection = Connection.connect(url, **{"connect_timeout": connect_timeout(url, timeout_s), **options})
    connection.answer_s = timeout_s / 2
    if takes_time:
        pid = connection.info.backend_pid
        connection.works = lambda: _works(url, pid, timeout_s)
    return connection


def connect_timeout(url: str, timeout_s: float) -> int:
    """Return how many seconds to wait for each host of *url*, so that all are tried in half of *timeout_s*."""
    given = conninfo_to_dict(url)
    mine = max(_SHORTEST_CONNECT_S, int(timeout_s / 2 / _hosts(given)))
    return min(mine, int(given.get("connect_timeout") or mine))


def connection_wait_s(url: str, timeout_s: float) -> float:
    """Return how many seconds to wait for a connection: half of *timeout_s*, or more if several hosts need it."""
    hosts = _hosts(conninfo_to_dict(url))
    return timeout_s / 2 if hosts == 1 else max(timeout_s / 2, (hosts + 0.5) * _SHORTEST_CONNECT_S)


def _hosts(given: dict[str, Any]) -> int:
    return str(given.get("hostaddr") or given.get("host") or "").count(",") + 1


def _works(url: str, pid: int, timeout_s: float) -> bool:
    """Return whether the server still answers, and the process *pid* does not wait for a standby."""
    try:
        with connect(url, timeout_s=timeout_s, autocommit=True) as asking:
            row = asking.execute(_WAITS_FOR_STANDBY, (pid,)).fetchone()
            return row is not None and not row[0]
    except psycopg.Error:
        return False


def _limited(
    running: Generator[Any, Any, Any], limit_s: float, works: Callable[[], bool | None] | None = None
) -> Generator[Any, Any, Any]:
    """Pass on what *running* waits for, until it ends or the time is over.

    Raises:
        AnswerLate: it is over, and *works* does not say that it is worth to wait on; if it returns None, it is asked
            again soon.
    """
    end = time.monotonic() + limit_s
    try:
        wanted = next(running)
        while True:
            ready = yield wanted
            if time.monotonic() > end and not ready:
                still_works = works() if works is not None else False
                if still_works is False:
                    raise AnswerLate(f"the database did not answer within {limit_s:g} s")
                if still_works:
                    end = time.monotonic() + limit_s
            wanted = running.send(ready)
    except StopIteration as ended:
        return ended.value
