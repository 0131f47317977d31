"""The event store: appends in batches, and long appends in one transaction."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

import psycopg
import sqlalchemy as sa

from ledger.errors import LedgerError
from ledger.ports import Appended, AppendRequest
from ledger.stores.postgres import faults
from ledger.stores.postgres.append_call import AppendConnection
from ledger.stores.postgres.append_retry import AppendRetry
from ledger.stores.postgres.connections import LIMIT_IDLE, Pool
from ledger.stores.postgres.connector import Driver
from ledger.stores.postgres.deadlines import AnswerLate
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.group_commit import GroupCommit

CALL_EVENTS: Final = 1_000  # events per call of a longer atomic append (trust E-12)
_CALL_BYTES: Final = 32 * 1024 * 1024


class PostgresEventStore(EventReader):
    """See `ports.event_store.EventStore`; reading is in `event_reader`.

    An append survives a restart of the server that takes less than *patience_s*; see `append_retry`.
    """

    def __init__(self, pool: Pool, *, group_commit: bool, patience_s: float) -> None:
        super().__init__(pool)
        self._appenders = pool.driver_connections(size=2 if group_commit else 4, wrap=self._appender)
        self._retry = AppendRetry(pool, self._appenders, patience_s=patience_s)
        if group_commit:
            self._group = GroupCommit(self._retry.append, max_events=CALL_EVENTS)
        else:
            self._group = GroupCommit(self._retry.append, max_events=1, flushes=4)  # a commit for each request

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
                if not await self._retry.may_repeat(cause, next(iter(again)), contention):
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
        more = sum(event.size_b for event in added)
        if call and (forks or events + len(added) > CALL_EVENTS or size + more > _CALL_BYTES):
            yield call
            call, events, size = [], 0, 0
        call.append(request)
        events, size = events + len(added), size + more
    if call:
        yield call
