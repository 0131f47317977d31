"""An append that got no answer is sent again, and recognised if the first attempt was committed. Source: trust R-7."""

import asyncio
from collections.abc import Sequence
from typing import Final

import psycopg
import sqlalchemy as sa

from ledger.errors import LedgerError
from ledger.ports import Appended, AppendRequest
from ledger.stores.postgres import faults
from ledger.stores.postgres.append_call import AppendConnection
from ledger.stores.postgres.connections import DriverConnections, Pool
from ledger.stores.postgres.deadlines import AnswerLate
from ledger.stores.postgres.faults import translated

CONTENTION_RETRIES: Final = 3  # trust R-7
_PAUSE_S: Final = 0.05


class AppendRetry:
    """Sends appends over *appenders* until they are answered.

    When the server has been away for *patience_s*, each append is tried only once, so that callers that wait for
    one another, in a session or for a commit, do not each wait that long. What was sent to a server that does not
    answer is not sent again: it may be carried out later, after the second attempt.
    """

    def __init__(self, pool: Pool, appenders: "DriverConnections[AppendConnection]", *, patience_s: float) -> None:
        self._pool = pool
        self._appenders = appenders
        self._patience_s = patience_s
        self._away_since: float | None = None

    async def append(self, requests: Sequence[AppendRequest]) -> list[Appended | LedgerError]:
        """Send a batch until it is answered: again after contention, or if the connection broke."""
        clock = asyncio.get_running_loop().time
        started = clock()
        contention, retry = 0, False
        while True:
            try:
                async with self._appenders.use() as appender:
                    answers = await appender.append(requests, retry=retry)
                self._away_since = None
                return answers
            except (psycopg.Error, sa.exc.DBAPIError, sa.exc.TimeoutError, OSError) as fault:
                cause = fault.orig if isinstance(fault, sa.exc.DBAPIError) else fault
                if not isinstance(cause, psycopg.Error) or isinstance(cause, AnswerLate):
                    return [faults.ledger_error(cause)] * len(requests)
                if await self.may_repeat(cause, requests[0], contention):
                    contention += faults.is_contention(cause)
                elif faults.outcome_unknown(cause) or faults.is_passing(cause):
                    retry = retry or faults.outcome_unknown(cause)
                    self._away_since = self._away_since or clock()
                    if clock() > min(started, self._away_since) + self._patience_s:
                        return [faults.ledger_error(cause)] * len(requests)
                    await asyncio.sleep(_PAUSE_S)
                elif len(requests) > 1 and not (faults.is_unsupported(cause) or faults.is_read_only(cause)):
                    # one is the cause: let it fail alone
                    return [(await self.append([request]))[0] for request in requests]
                else:
                    return [faults.ledger_error(cause)] * len(requests)

    async def may_repeat(self, cause: psycopg.Error, first: AppendRequest, repeated: int) -> bool:
        """Return whether to append again at once: the namespace was missing, or another writer held a lock."""
        if cause.sqlstate == "LG005":
            await self._create_namespace(first)
            return True
        return faults.is_contention(cause) and repeated < CONTENTION_RETRIES

    async def _create_namespace(self, request: AppendRequest) -> None:
        stream = request.writes[0].stream
        with translated():
            async with self._pool.readers.use() as driver:
                await driver.execute("SELECT ledger.create_namespace(%s, %s)", (stream.namespace_id, stream.namespace))
