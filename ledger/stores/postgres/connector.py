"""A new connection to PostgreSQL: how it is opened, and the checks before it is used."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from ledger.errors import DatabaseUnavailable, LedgerError, UnsafeDatabase, UnsafeRole
from ledger.stores.postgres.connecting import is_full, refusal
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, AsyncConnection, connect_timeout

Driver: TypeAlias = AsyncConnection

APPLICATION_ROLE: Final = "ledger_app"
OLDEST_SERVER: Final = 150_000
#: For how many processes with all their connections a server must have room, so that none must think of the others.
_MANY: Final = 10
#: When a host that vanished is noticed: it closes no connection, and systems wait a quarter of an hour for its answer.
#: The URL may set other limits.
_NOTICE_A_LOSS: Final = {
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
}
#: A caller who gave up closes its socket; the server then ends what it did for it, unless that is committed already.
_NOTICE_AN_END: Final = """
SELECT set_config('client_connection_check_interval', '2s', false)
WHERE current_setting('client_connection_check_interval', true) = '0'
"""
#: The setting exists since PostgreSQL 17.
HAS_TRANSACTION_TIMEOUT: Final = "current_setting('server_version_num')::integer >= 170000"
#: A service returns an error rather than let its callers hang. Limits of the server take precedence (trust S-8).
_LIMIT_STATEMENTS: Final = f"""
SELECT
    set_config('statement_timeout', coalesce(nullif(current_setting('statement_timeout'), '0'), '5s'), false),
    set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '2s'), false),
    CASE WHEN {HAS_TRANSACTION_TIMEOUT} THEN
        set_config('transaction_timeout', coalesce(nullif(current_setting('transaction_timeout'), '0'), '60s'), false)
    END
"""

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
    (
        SELECT least(
            current_setting('max_connections')::integer,
            (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = session_user),
            (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
        )
    ),
    pg_backend_pid()
"""
_IS_THERE: Final = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"


def _answered(fault: psycopg.OperationalError) -> bool:
    """Return whether there is a server, which refuses, is full or does not say anything."""
    return isinstance(fault, psycopg.errors.ConnectionTimeout) or is_full(fault) or refusal(fault) is not None


class Target(msgspec.Struct, frozen=True):
    """A database to connect to; the login of an embedded one is a superuser that takes the application's role.

    With *served* connections do not wait long for a statement or a lock. A call waits for an answer for at most
    *timeout_s* seconds, half of them for a connection, of which there are at most *connections*. *restart* starts an
    embedded server that does not run; it may take seconds, and is called in a thread. *login* returns the user or the
    password of now, which take precedence over those of the URL.
    """

    url: str
    embedded: bool = False
    allow_unsafe: bool = False
    served: bool = False
    timeout_s: float = DEFAULT_TIMEOUT_S
    connections: int = 8
    restart: Callable[[], None] | None = None
    login: Callable[[], Awaitable[dict[str, str]]] | None = None

    def __repr__(self) -> str:
        return f"Target({urlsplit(self.url).hostname!r}, embedded={self.embedded})"  # the URL may hold a password


class Login(msgspec.Struct, frozen=True):
    """What a server reports about itself and about the login."""

    role: str
    server_version: int
    unsafe_settings: tuple[str, ...]
    could_rewrite: str | None
    application_role: bool
    #: How many connections all processes with this login may have together, as far as the server says.
    connections: int


class Connector:
    """Opens connections to one target and checks each before it is used."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._login: Login | None = None
        self._restarting = asyncio.Lock()

    @property
    def login(self) -> Login:
        """The login, as the newest connection found it."""
        assert self._login is not None, "no connection was opened yet"
        return self._login

    @property
    def are_few(self) -> bool:
        """Whether the server may have no connection left for another process, if this one keeps what it may have."""
        return self._login is not None and self._login.connections < _MANY * self.target.connections

    async def connect(self) -> Driver:
        """Return a new connection in autocommit mode; behind a pooler it prepares no statements.

        Raises:
            UnsafeDatabase: a setting makes commits unsafe, or the server is too old.
            UnsafeRole: the login is a superuser or an owner, or bypasses row security.
            psycopg.Error: the server cannot be reached.
            DatabaseUnavailable: the embedded server did not start again.
        """
        options = self._options()
        try:
            connection = await self._open(options)
        except psycopg.OperationalError as fault:
            if self.target.restart is None or _answered(fault):
                raise
            connection = await self._restarted(options, self.target.restart)
        try:
            cursor = await connection.execute(_WHO, {"embedded": self.target.embedded})
            row = await cursor.fetchone()
            assert row is not None
            self._login = Login(row[0], row[1], tuple(row[2]), row[3], row[4], row[5])
            self._check(self._login)
            if row[6] != connection.info.backend_pid:
                # there is a pooler in between: the next statement may reach a backend where it was not prepared, or
                # where its name means another statement (trust D-8, S-8)
                connection.prepare_threshold = None
            else:
                with suppress(psycopg.errors.InvalidParameterValue):  # this system does not tell a server
                    await connection.execute(_NOTICE_AN_END)
                if self.target.served:
                    await connection.execute(_LIMIT_STATEMENTS)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def works(self, connection: Driver, process_id: int) -> bool:
        """Return whether the server of *connection* still has its process, or says why there is no second connection.

        Of several hosts only that one is asked.
        """
        server = {
            name: str(value) for name in ("host", "hostaddr", "port") if (value := getattr(connection.info, name))
        }
        try:
            asking = await self._open({**self._options(), **server})
        except psycopg.Error as fault:
            return is_full(fault) or refusal(fault) is not None
        except LedgerError:  # there is no password
            return False
        try:
            return await (await asking.execute(_IS_THERE, (process_id,))).fetchone() == (True,)
        except psycopg.Error:
            return False
        finally:
            await asking.close()

    def _options(self) -> dict[str, Any]:
        given = conninfo_to_dict(self.target.url)
        # set as an option, the role survives ROLLBACK and RESET ROLE (trust D-9)
        options: dict[str, Any] = {"options": f"-c role={APPLICATION_ROLE}"} if self.target.embedded else {}
        options |= {name: limit for name, limit in _NOTICE_A_LOSS.items() if name not in given}
        options["connect_timeout"] = connect_timeout(self.target.url, self.target.timeout_s)
        return options

    async def _open(self, options: dict[str, Any]) -> Driver:
        given: dict[str, Any] = {**options, **await self._login_now()}
        connection = await AsyncConnection.connect(
            self.target.url, autocommit=True, application_name="memory-ledger", **given
        )
        connection.answer_s = self.target.timeout_s / 2
        return connection

    async def _login_now(self) -> dict[str, str]:
        if self.target.login is None:
            return {}
        try:
            return await self.target.login()
        except Exception as fault:  # a function of the user may raise anything
            words = str(fault) if isinstance(fault, LedgerError) else type(fault).__name__
            raise DatabaseUnavailable(f"the password of the database could not be read: {words}") from fault

    async def _restarted(self, options: dict[str, Any], restart: Callable[[], None]) -> Driver:
        """Start the server again, once for all callers of this process, and connect."""
        async with self._restarting:
            with suppress(psycopg.OperationalError):  # another caller was first
                return await self._open(options)
            await asyncio.to_thread(restart)
            return await self._open(options)

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
