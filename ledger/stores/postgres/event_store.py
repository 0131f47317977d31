"""The event store: appends in batches, retries, and long appends in one transaction."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from uuid import UUID

import psycopg
import sqlalchemy as sa

from ledger.errors import LedgerError
from ledger.ports import Appended, AppendRequest
from ledger.stores.postgres import faults
from ledger.stores.postgres.append_call import AppendConnection
from ledger.stores.postgres.connections import LIMIT_IDLE, Pool
from ledger.stores.postgres.connector import Driver
from ledger.stores.postgres.deadlines import AnswerLate
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.group_commit import GroupCommit

CALL_EVENTS: Final = 1_000  # events per call of a longer atomic append (trust E-12)
_CALL_BYTES: Final = 32 * 1024 * 1024
CONTENTION_RETRIES: Final = 3  # trust R-7
_PAUSE_S: Final = 0.05


class PostgresEventStore(EventReader):
    """See `ports.event_store.EventStore`; reading is in `event_reader`.

    An append survives a restart of the server: it is sent again, and recognised if the first attempt was committed.
    When the server has been away for *patience_s*, each append is tried only once, so that callers that wait for
    one another, in a session or for a commit, do not each wait that long. What was sent to a server that does not
    answer is not sent again: it may be carried out later, after the second attempt.
    """

    def __init__(self, pool: Pool, *, group_commit: bool, patience_s: float) -> None:
        super().__init__(pool)
        self._patience_s = patience_s
        self._away_since: float | None = None
        self._appenders = pool.driver_connections(size=2 if group_commit else 4, wrap=self._appender)
        if group_commit:
            self._group = GroupCommit(self._append_batch, max_events=CALL_EVENTS)
        else:
            self._group = GroupCommit(self._append_batch, max_events=1, flushes=4)  # a commit for each request

    async def close(self) -> None:
        """Finish the appends in progress."""
        await self._group.drain()

    async def append(self, request: AppendRequest) -> Appended:
        if not any(write.events for write in request.writes):
            return Appended(())
        timeout_s = self._pool.connector.target.timeout_s
        try:
            async with asyncio.timeout(timeout_s):  # the time in the queue is in it, too
                outcome = await self._group.append(request)
        except TimeoutError as late:
            raise faults.ledger_error(AnswerLate(f"the database did not answer within {timeout_s:g} s")) from late
        if isinstance(outcome, LedgerError):
            raise outcome
        return outcome

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        contention = 0
        again = list(requests) if isinstance(requests, Iterator) else requests
        while True:
            try:
                with translated():
                    return await self._append_in_one_transaction(again)
            except LedgerError as refused:
                cause = refused.__cause__
                if not isinstance(cause, psycopg.Error):
                    raise
                if not await self._may_repeat(cause, next(iter(again)), contention):
                    raise
                contention += faults.is_contention(cause)

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            statement = sa.text("SELECT ledger.prune_requests(:namespace_id, make_interval(days => :days))")
            return int(await connection.scalar(statement, {"namespace_id": namespace_id, "days": days}) or 0)

    async def _append_in_one_transaction(self, requests: Iterable[AppendRequest]) -> int:
        events = 0
        async with self._appenders.use() as appender, appender.connection.transaction():
            for number, call in enumerate(_calls(requests)):
                if number == 0:
                    await appender.connection.execute(LIMIT_IDLE)
                for outcome in await appender.append(call):
                    if isinstance(outcome, LedgerError):
                        raise outcome
                    events += len(outcome.receipts)
        return events

    async def _append_batch(self, requests: Sequence[AppendRequest]) -> list[Appended | LedgerError]:
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
                if await self._may_repeat(cause, requests[0], contention):
                    contention += faults.is_contention(cause)
                elif faults.outcome_unknown(cause) or faults.is_passing(cause):
                    retry = retry or faults.outcome_unknown(cause)
                    self._away_since = self._away_since or clock()
                    if clock() > min(started, self._away_since) + self._patience_s:
                        return [faults.ledger_error(cause)] * len(requests)
                    await asyncio.sleep(_PAUSE_S)
                elif len(requests) > 1 and not (faults.is_unsupported(cause) or faults.is_read_only(cause)):
                    # one is the cause: let it fail alone
                    return [(await self._append_batch([request]))[0] for request in requests]
                else:
                    return [faults.ledger_error(cause)] * len(requests)

    async def _may_repeat(self, cause: psycopg.Error, first: AppendRequest, repeated: int) -> bool:
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

    def _appender(self, driver: Driver) -> AppendConnection:
        connector = self._pool.connector
        return AppendConnection(driver, role=connector.login.role, allow_unsafe=connector.target.allow_unsafe)


def _calls(requests: Iterable[AppendRequest]) -> Iterator[list[AppendRequest]]:
    """Yield *requests* in order, in calls of about a thousand events.

    A fork starts a new call, because its parent must be written before it.
    """
    call: list[AppendRequest] = []
    events = size = 0
    for request in requests:
        added = [event for write in request.writes for event in write.events]
        if not added:
            continue
        forks = any(write.forked_from for write in request.writes)
        more = sum(len(event.payload) for event in added)
        if call and (forks or events + len(added) > CALL_EVENTS or size + more > _CALL_BYTES):
            yield call
            call, events, size = [], 0, 0
        call.append(request)
        events, size = events + len(added), size + more
    if call:
        yield call
