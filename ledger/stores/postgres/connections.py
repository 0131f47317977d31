"""Connections to PostgreSQL that are open: SQLAlchemy's pool, and those that stay checked out."""

import asyncio
import select
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, Literal, TypeVar
from uuid import UUID

import msgspec
from psycopg.pq import TransactionStatus
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from ledger.stores.postgres.connection_limit import ConnectionLimit
from ledger.stores.postgres.connector import HAS_TRANSACTION_TIMEOUT, Connector, Driver
from ledger.stores.postgres.deadlines import AsyncConnection as LimitedConnection
from ledger.stores.postgres.deadlines import LivenessCheck, connection_wait_s
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.unused_connections import UnusedConnections

T = TypeVar("T")

#: If this process is suspended within a transaction, the server ends it, so that its locks do not block others for
#: ever. A limit of the server takes precedence. It is set for the transaction only, because behind a transaction
#: pooler the next transaction may be another client's (trust D-8, S-8).
LIMIT_IDLE: Final = """
SELECT set_config(
    'idle_in_transaction_session_timeout',
    coalesce(nullif(current_setting('idle_in_transaction_session_timeout'), '0'), '10s'),
    true
)
"""
_SET_NAMESPACE: Final = text(LIMIT_IDLE + ", set_config('ledger.namespace', :namespace, true)")
_TAKE_TIME: Final = text(f"""
SELECT
    pg_backend_pid(),
    set_config('statement_timeout', '0', true),
    CASE WHEN {HAS_TRANSACTION_TIMEOUT} THEN set_config('transaction_timeout', '0', true) END
""")

#: After which share of the time that another process waits for a connection it gets one that is not used.
_UNUSED: Final = 0.25

#: A query whose only sensible plan is an index scan is planned when it is prepared, not at each of its first five uses.
_PLAN_ONCE: Final = "SET plan_cache_mode = force_generic_plan"


class DriverConnections(Generic[T]):
    """Driver connections that stay checked out between uses, which saves a trip through the pool.

    The *settings* are made once on each; they last as long as it, so it must not serve anything else.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        limit: ConnectionLimit,
        unused: UnusedConnections,
        *,
        size: int,
        wrap: Callable[[Driver], T],
        wait_s: float,
        settings: str = "",
    ) -> None:
        self._engine = engine
        self._limit = limit
        self._unused = unused
        unused.holders.append(self._close_idle)
        self._wait_s = wait_s
        self._settings = settings
        self._wrap = wrap
        #: Those that nobody uses, the one that was used last at the end, and until when.
        self._idle: list[tuple[AsyncConnection, Driver, T, float]] = []
        self._size = size
        self._free = asyncio.Semaphore(size)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[T]:
        """Yield a connection; discard it afterwards if it broke or is still in a transaction.

        If it broke, the idle ones have probably broken too: they are discarded with it.

        Raises:
            TimeoutError: all were in use for too long.
        """
        async with asyncio.timeout(self._wait_s):
            await self._free.acquire()
        try:
            pooled, driver, wrapped = await self._idle_one() or await self._checkout()
            try:
                yield wrapped
            finally:
                reusable = not driver.closed and driver.info.transaction_status == TransactionStatus.IDLE
                if reusable and not self._limit.keeps_none:
                    self._idle.append((pooled, driver, wrapped, asyncio.get_running_loop().time()))
                    self._unused.notice()
                else:
                    stale, self._idle = (self._idle, []) if driver.closed else ([], self._idle)
                    for each in (pooled, *(idle for idle, *_ in stale)):
                        await self._limit.close(each, to_server=True)
        finally:
            self._free.release()

    @property
    def idle(self) -> int:
        """How many connections it holds that nobody uses."""
        return len(self._idle)

    async def close(self) -> None:
        """Return all connections to the pool, after waiting for those in use."""
        for _ in range(self._size):
            await self._free.acquire()
        while self._idle:
            await self._limit.close(self._idle.pop()[0])
        for _ in range(self._size):
            self._free.release()

    async def _idle_one(self) -> tuple[AsyncConnection, Driver, T] | None:
        """Return an idle connection; discard those that the server closed meanwhile."""
        while self._idle:
            found = self._idle.pop()
            if not _is_readable(found[1].pgconn.socket):
                return found[:3]
            await self._limit.close(found[0], to_server=True)
        return None

    async def _close_idle(self, since: float) -> bool:
        if not self._idle or self._idle[0][3] > since:
            return False
        await self._limit.close(self._idle.pop(0)[0], to_server=True)
        return True

    async def _checkout(self) -> tuple[AsyncConnection, Driver, T]:
        pooled = await self._limit.connect(self._engine)
        driver = (await pooled.get_raw_connection()).driver_connection
        assert isinstance(driver, LimitedConnection)
        if self._settings and driver.prepare_threshold is not None:  # behind a pooler no setting would last
            try:
                await driver.execute(self._settings)
            except BaseException:
                await self._limit.close(pooled, to_server=True)
                raise
        return pooled, driver, self._wrap(driver)


def _is_readable(socket: int) -> bool:
    """Return whether something arrived on a connection that asked nothing: its end, or why it ends."""
    if not hasattr(select, "poll"):  # on Windows; the next statement tells
        return False
    waiting = select.poll()
    waiting.register(socket, select.POLLIN)
    return bool(waiting.poll(0))


class PoolUse(msgspec.Struct, frozen=True):
    """How many connections of a pool are open and in use, and how many there may be."""

    open: int
    in_use: int
    limit: int


class Pool:
    """All connections of one store: to the driver, and in transactions for ordinary queries."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        with translated():  # it reads the URL
            self._wait_s = connection_wait_s(connector.target.url, connector.target.timeout_s)
        most = connector.target.connections
        self._unused = UnusedConnections(
            after_s=self._wait_s * _UNUSED,
            are_few=lambda: connector.are_few,
            are_there=lambda: self.use.open > self.use.in_use,
        )
        self._unused.holders.append(self._close_pooled)
        self._limit = ConnectionLimit(most, wait_s=self._wait_s, unused=self._unused)
        self._used_at = 0.0
        self.engine = create_async_engine(
            "postgresql+psycopg://",
            async_creator=connector.connect,
            isolation_level="AUTOCOMMIT",
            pool_size=most,
            max_overflow=0,
            pool_timeout=self._wait_s,
            pool_pre_ping=True,  # a restart of the server breaks every connection
        )
        self._checked_out: list[DriverConnections[Any]] = []
        self.readers: DriverConnections[Driver] = self.driver_connections(
            size=3, wrap=lambda driver: driver, settings=_PLAN_ONCE
        )

    def driver_connections(self, *, size: int, wrap: Callable[[Driver], T], settings: str = "") -> DriverConnections[T]:
        """Return up to *size* of the connections, for the driver."""
        connections = DriverConnections(
            self.engine, self._limit, self._unused, size=size, wrap=wrap, wait_s=self._wait_s, settings=settings
        )
        self._checked_out.append(connections)
        return connections

    @asynccontextmanager
    async def transaction(
        self,
        *namespace_ids: UUID,
        isolation: Literal["READ COMMITTED", "REPEATABLE READ"] = "READ COMMITTED",
        takes_time: bool = False,
    ) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a transaction whose namespaces are set (trust D-7, D-8).

        With *takes_time* its statements have no limit at the server, and here they may take as long as a second
        connection, opened each time that the deadline is over, shows that the server works.
        """
        with translated():
            async with self._connection(isolation) as connection, connection.begin():
                await connection.execute(_SET_NAMESPACE, {"namespace": ",".join(map(str, namespace_ids))})
                if not takes_time:
                    yield connection
                    return
                driver = (await connection.get_raw_connection()).driver_connection
                assert isinstance(driver, LimitedConnection)
                process_id = int((await connection.execute(_TAKE_TIME)).one()[0])
                driver.works = works = LivenessCheck(lambda: self.connector.works(driver, process_id))
                try:
                    yield connection
                finally:  # a commit takes no time, but may wait for a standby that is gone
                    driver.works = None
                    works.cancel()

    @asynccontextmanager
    async def _connection(self, isolation: str) -> AsyncIterator[AsyncConnection]:
        connection = await self._limit.connect(self.engine.execution_options(isolation_level=isolation))
        try:
            yield connection
        finally:
            await self._limit.close(connection)
            self._used_at = asyncio.get_running_loop().time()
            self._unused.notice()

    async def _close_pooled(self, since: float) -> bool:
        pool = self.engine.pool
        assert isinstance(pool, AsyncAdaptedQueuePool)
        if not pool.checkedin() or self._used_at > since or not self._limit.has_room:
            return False
        await self._limit.close(await self._limit.connect(self.engine), to_server=True)
        return True

    @property
    def use(self) -> PoolUse:
        """How many connections are open and in use, and how many there may be."""
        pool = self.engine.pool
        assert isinstance(pool, AsyncAdaptedQueuePool)
        out = pool.checkedout()
        return PoolUse(pool.checkedin() + out, out - sum(each.idle for each in self._checked_out), pool.size())

    async def close(self) -> None:
        """Close all connections; those in use are closed after their use."""
        self._limit.ended = True
        await self._unused.stop()
        for each in self._checked_out:
            await each.close()
        await self.engine.dispose()
