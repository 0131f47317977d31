"""Connections to PostgreSQL: SQLAlchemy's pool, and the checks of each new connection."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from sqlalchemy import exc, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from ledger.errors import UnsafeDatabase, UnsafeRole
from ledger.stores.postgres.faults import translated

T = TypeVar("T")
Driver: TypeAlias = psycopg.AsyncConnection[Any]

APPLICATION_ROLE: Final = "ledger_app"
OLDEST_SERVER: Final = 150_000
CONNECT_TIMEOUT_S: Final = 10
#: When a host that vanished is noticed: it closes no connection, and systems wait a quarter of an hour for its answer.
#: The URL may set other limits.
_NOTICE_A_LOSS: Final = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
}
POOL_SIZE: Final = 8

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
#: The setting exists since PostgreSQL 17.
_HAS_TRANSACTION_TIMEOUT: Final = "current_setting('server_version_num')::integer >= 170000"
_TAKE_TIME: Final = text(f"""
SELECT
    set_config('statement_timeout', '0', true),
    CASE WHEN {_HAS_TRANSACTION_TIMEOUT} THEN set_config('transaction_timeout', '0', true) END
""")

#: A service returns an error rather than let its callers hang. Limits of the server take precedence (trust S-8).
_LIMIT_STATEMENTS: Final = f"""
SELECT
    set_config('statement_timeout', coalesce(nullif(current_setting('statement_timeout'), '0'), '5s'), false),
    set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '2s'), false),
    CASE WHEN {_HAS_TRANSACTION_TIMEOUT} THEN
        set_config('transaction_timeout', coalesce(nullif(current_setting('transaction_timeout'), '0'), '60s'), false)
    END
"""

#: A query whose only sensible plan is an index scan is planned when it is prepared, not at each of its first five uses.
_PLAN_ONCE: Final = "SET plan_cache_mode = force_generic_plan"

#: The login, which of its roles could rewrite history, and the settings that affect durability (trust P-2, D-10).
_WHO: Final = """
SELECT
    current_user,
    current_setting('server_version_num')::integer,
    ARRAY(
        SELECT name::text FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
    ),
    (
        SELECT min(r.rolname::text) FROM pg_roles r
        WHERE r.rolname IN (current_user, CASE WHEN %(embedded)s THEN current_user ELSE session_user END) AND (
            r.rolsuper OR r.rolbypassrls
            OR EXISTS (
                SELECT FROM pg_namespace n
                WHERE n.nspname = 'ledger' AND pg_has_role(r.rolname, n.nspowner, 'MEMBER')
            )
        )
    ),
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_app'),
    pg_backend_pid()
"""


class Target(msgspec.Struct, frozen=True):
    """A database to connect to; the login of an embedded one is a superuser that takes the application's role.

    With *served* connections do not wait long for a statement or a lock.
    """

    url: str
    embedded: bool = False
    allow_unsafe: bool = False
    served: bool = False

    def __repr__(self) -> str:
        return f"Target({urlsplit(self.url).hostname!r}, embedded={self.embedded})"  # the URL may hold a password


class Login(msgspec.Struct, frozen=True):
    """What a server reports about itself and about the login."""

    role: str
    server_version: int
    unsafe_settings: tuple[str, ...]
    could_rewrite: str | None
    application_role: bool


class Connector:
    """Opens connections to one target and checks each before it is used."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._login: Login | None = None

    @property
    def login(self) -> Login:
        """The login, as the newest connection found it."""
        assert self._login is not None, "no connection was opened yet"
        return self._login

    async def connect(self) -> Driver:
        """Return a new connection in autocommit mode; behind a pooler it prepares no statements.

        Raises:
            UnsafeDatabase: a setting makes commits unsafe, or the server is too old.
            UnsafeRole: the login is a superuser or an owner, or bypasses row security.
            psycopg.Error: the server cannot be reached.
        """
        given = conninfo_to_dict(self.target.url)
        # set as an option, the role survives ROLLBACK and RESET ROLE (trust D-9)
        options: dict[str, Any] = {"options": f"-c role={APPLICATION_ROLE}"} if self.target.embedded else {}
        options |= {name: limit for name, limit in _NOTICE_A_LOSS.items() if name not in given}
        connection = await psycopg.AsyncConnection.connect(
            self.target.url, autocommit=True, application_name="memory-ledger", **options
        )
        try:
            cursor = await connection.execute(_WHO, {"embedded": self.target.embedded})
            row = await cursor.fetchone()
            assert row is not None
            self._login = Login(row[0], row[1], tuple(row[2]), row[3], row[4])
            self._check(self._login)
            if row[5] != connection.info.backend_pid:
                # there is a pooler in between: the next statement may reach a backend where it was not prepared, or
                # where its name means another statement (trust D-8, S-8)
                connection.prepare_threshold = None
            elif self.target.served:
                await connection.execute(_LIMIT_STATEMENTS)
        except BaseException:
            await connection.close()
            raise
        return connection

    def _check(self, login: Login) -> None:
        if login.server_version < OLDEST_SERVER:
            raise UnsafeDatabase(f"PostgreSQL must be 15 or newer; this server is {login.server_version // 10_000}")
        if login.unsafe_settings and not self.target.allow_unsafe:
            names = ", ".join(login.unsafe_settings)
            raise UnsafeDatabase(f"{names} is off, so an acknowledged append could be lost; turn it on")
        if login.could_rewrite and login.application_role:
            raise UnsafeRole(
                f"role {login.could_rewrite!r} could rewrite history; log in as a member of {APPLICATION_ROLE}, "
                f"e.g. CREATE ROLE my_app LOGIN PASSWORD '…' IN ROLE {APPLICATION_ROLE}"
            )


class DriverConnections(Generic[T]):
    """Driver connections that stay checked out between uses, which saves a trip through the pool.

    The *settings* are made once on each; they last as long as it, so it must not serve anything else.
    """

    def __init__(self, engine: AsyncEngine, *, size: int, wrap: Callable[[Driver], T], settings: str = "") -> None:
        self._engine = engine
        self._settings = settings
        self._wrap = wrap
        self._idle: list[tuple[AsyncConnection, Driver, T]] = []
        self._size = size
        self._free = asyncio.Semaphore(size)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[T]:
        """Yield a connection; discard it afterwards if it broke or is still in a transaction.

        If it broke, the idle ones have probably broken too: they are discarded with it.
        """
        async with self._free:
            pooled, driver, wrapped = self._idle.pop() if self._idle else await self._checkout()
            try:
                yield wrapped
            finally:
                if not driver.closed and driver.info.transaction_status == TransactionStatus.IDLE:
                    self._idle.append((pooled, driver, wrapped))
                else:
                    stale, self._idle = (self._idle, []) if driver.closed else ([], self._idle)
                    for each in (pooled, *(idle for idle, _, _ in stale)):
                        await self._discard(each)

    @property
    def idle(self) -> int:
        """How many connections it holds that nobody uses."""
        return len(self._idle)

    async def close(self) -> None:
        """Return all connections to the pool, after waiting for those in use."""
        for _ in range(self._size):
            await self._free.acquire()
        while self._idle:
            await self._idle.pop()[0].close()
        for _ in range(self._size):
            self._free.release()

    async def _checkout(self) -> tuple[AsyncConnection, Driver, T]:
        pooled = await self._engine.connect()
        driver = (await pooled.get_raw_connection()).driver_connection
        assert isinstance(driver, psycopg.AsyncConnection)
        if self._settings and driver.prepare_threshold is not None:  # behind a pooler no setting would last
            try:
                await driver.execute(self._settings)
            except BaseException:
                await self._discard(pooled)
                raise
        return pooled, driver, self._wrap(driver)

    async def _discard(self, pooled: AsyncConnection) -> None:
        with suppress(exc.SQLAlchemyError, psycopg.Error):
            await pooled.invalidate()
        with suppress(exc.SQLAlchemyError, psycopg.Error):
            await pooled.close()


class PoolUse(msgspec.Struct, frozen=True):
    """How many connections of a pool are open and in use, and how many there may be."""

    open: int
    in_use: int
    limit: int


class Pool:
    """All connections of one store: to the driver, and in transactions for ordinary queries."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self.engine = create_async_engine(
            "postgresql+psycopg://",
            async_creator=connector.connect,
            isolation_level="AUTOCOMMIT",
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=CONNECT_TIMEOUT_S,
            pool_pre_ping=True,  # a restart of the server breaks every connection
        )
        self._checked_out: list[DriverConnections[Any]] = []
        self.readers: DriverConnections[Driver] = self.driver_connections(
            size=3, wrap=lambda driver: driver, settings=_PLAN_ONCE
        )

    def driver_connections(self, *, size: int, wrap: Callable[[Driver], T], settings: str = "") -> DriverConnections[T]:
        """Return up to *size* of the connections, for the driver."""
        connections = DriverConnections(self.engine, size=size, wrap=wrap, settings=settings)
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

        With *takes_time* its statements have no time limit.
        """
        with translated():
            async with self.engine.execution_options(isolation_level=isolation).begin() as connection:
                await connection.execute(_SET_NAMESPACE, {"namespace": ",".join(map(str, namespace_ids))})
                if takes_time:
                    await connection.execute(_TAKE_TIME)
                yield connection

    @property
    def use(self) -> PoolUse:
        """How many connections are open and in use, and how many there may be."""
        pool = self.engine.pool
        assert isinstance(pool, AsyncAdaptedQueuePool)
        out = pool.checkedout()
        return PoolUse(pool.checkedin() + out, out - sum(each.idle for each in self._checked_out), pool.size())

    async def close(self) -> None:
        """Close all connections."""
        await self.readers.close()
        await self.engine.dispose()
