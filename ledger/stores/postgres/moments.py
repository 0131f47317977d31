"""Short waits for the answer of a database without the event loop, by whom that keeps nobody waiting."""

import select
from typing import Final

from psycopg.pq.abc import PGconn

_MOMENT_MS: Final = 2  # most appends take less
_MOST_LEFT_OUT: Final = 64


class Moments:
    """Waits a moment for the answer on *pgconn*; while answers take longer, ever more rarely."""

    def __init__(self, pgconn: PGconn) -> None:
        self._pgconn = pgconn
        self._leaves_out = self._left = 0
        self._answer = None
        if hasattr(select, "poll"):  # not on Windows
            self._answer = select.poll()
            self._answer.register(pgconn.socket, select.POLLIN)

    def wait(self) -> bool:
        """Return whether an answer, or its beginning, was read; if not, nothing has changed.

        Raises:
            psycopg.OperationalError: the connection broke.
        """
        if self._answer is None:
            return False
        if self._left:
            self._left -= 1
            return False
        self._pgconn.flush()
        if not self._answer.poll(_MOMENT_MS):
            self._left = self._leaves_out = min(2 * self._leaves_out + 1, _MOST_LEFT_OUT)
            return False
        self._leaves_out = 0
        self._pgconn.consume_input()
        return True
