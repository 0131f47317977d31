"""Open the store that settings name: the embedded server, started and migrated if it is new, or the user's own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import psycopg
from psycopg import errors, sql

from ledger.errors import DatabaseUnavailable, InvalidInput, LedgerError
from ledger.ports import Store
from ledger.settings import Secret, Settings, has_password, login_now, value_now
from ledger.stores.embedded.idle_stop import stop_when_idle
from ledger.stores.embedded.server import DATABASE, EmbeddedServer
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, connect
from ledger.stores.snapshot_key import snapshot_key

log = logging.getLogger("ledger")

_CHECK_AGAIN_S: Final = 0.5


async def open_store(
    settings: Settings,
    *,
    group_commit: bool = True,
    allow_unsafe: bool = False,
    served: bool = False,
    start: bool = True,
    password: Secret | None = None,
) -> Store:
    """Return the store that *settings* name; with *served* it does not wait long for a statement or a lock.

    *password* is that of the URL, or a function that returns it for each new connection. Without *start* an embedded
    server that does not run is not created, only started again.

    Raises:
        DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: see `PostgresStore.open`.
    """
    login = _login(settings, password)
    if start:
        url = await asyncio.to_thread(ready_url, settings)
    else:
        url = settings.database_url or EmbeddedServer(settings.data_dir).url
    embedded = settings.database_url is None
    restart = partial(_restart, EmbeddedServer(settings.data_dir), settings.embedded_idle_s) if embedded else None
    target = Target(
        url,
        embedded=embedded,
        allow_unsafe=allow_unsafe,
        served=served,
        timeout_s=settings.database_timeout_s,
        connections=settings.database_connections,
        restart=restart,
        login=login,
    )
    key = await asyncio.to_thread(snapshot_key, settings)
    return await PostgresStore.open(target, group_commit=group_commit, key=key)


def _login(settings: Settings, password: Secret | None) -> Callable[[], Awaitable[dict[str, str]]] | None:
    """Return what gives user and password for each new connection; None if the URL says all.

    Raises:
        InvalidInput: there is *password*, and no URL, or one with another password.
    """
    if password is None:
        read = login_now(settings)
        return None if read is None else partial(asyncio.to_thread, read)
    if settings.database_url is None:
        raise InvalidInput("bad_arguments", "must not be given: the embedded server has none", field="password")
    if has_password(settings.database_url) and settings.database_password is None:
        raise InvalidInput("bad_arguments", "must not be given: the database URL has one", field="password")

    async def ask() -> dict[str, str]:
        return {"password": await value_now(password)}

    return ask


def ready_url(settings: Settings) -> str:
    """Return the URL of the database that *settings* name, after preparing the embedded server if they name none."""
    if settings.database_url is not None:
        return settings.database_url
    server = EmbeddedServer(settings.data_dir)
    prepare(server, idle_s=settings.embedded_idle_s, timeout_s=settings.database_timeout_s)
    return server.url


@asynccontextmanager
async def open_embedded_server(settings: Settings) -> AsyncIterator[None]:
    """Start the embedded server if it dies while the context is open, before anybody needs it (trust P-13)."""
    if settings.database_url is not None:
        yield
        return
    watch = asyncio.create_task(_watch(EmbeddedServer(settings.data_dir), settings.embedded_idle_s))
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


async def _watch(server: EmbeddedServer, idle_s: float) -> None:
    while True:
        await asyncio.sleep(_CHECK_AGAIN_S)
        try:
            if server.died:
                await asyncio.to_thread(_restart, server, idle_s)
        except LedgerError as fault:
            log.error("the embedded PostgreSQL died: %s", fault)


def _restart(server: EmbeddedServer, idle_s: float) -> None:
    """Start the server of an open ledger again if it does not run; one of several processes that ask does so."""
    if server.start_again():
        stop_when_idle(server, idle_s)
        log.warning("the embedded PostgreSQL had ended and was started again")


def prepare(server: EmbeddedServer, *, idle_s: float = 0, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
    """Start the embedded server and, if its database is new, create the schema.

    It stops after *idle_s* seconds without use; with 0 it keeps running. An answer must come in half of *timeout_s*.
    An older schema stays as it is: only ``memory-ledger db upgrade`` changes a schema that holds data.
    """
    if server.start():
        stop_when_idle(server, idle_s)
    try:
        maintained = server.url.replace(f"/{DATABASE}?", "/postgres?")
        with connect(maintained, timeout_s=timeout_s, autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if known is None:
                with suppress(errors.DuplicateDatabase, errors.UniqueViolation):
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        with connect(server.url, timeout_s=timeout_s, autocommit=True) as connection:
            schema = connection.execute("SELECT to_regclass('ledger.alembic_version')").fetchone()
            migrated = schema is not None and schema[0] is not None
    except psycopg.OperationalError as fault:
        raise DatabaseUnavailable(f"the embedded PostgreSQL does not accept connections: {fault}") from fault
    if not migrated:
        from ledger.stores.postgres.migration import upgrade  # noqa: PLC0415 - Alembic, needed once

        upgrade(server.url, timeout_s=timeout_s)
