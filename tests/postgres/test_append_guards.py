"""`append` refuses what could not be promised, whoever calls it, and outlives lost statements.

Source: trust D-8, D-9, D-11.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest

from ledger.errors import NotAllowed
from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.append_call import AppendConnection
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, append

pytestmark = pytest.mark.postgres

Connect = Callable[[], Awaitable[psycopg.AsyncConnection]]


@pytest.fixture
async def connect(server: Server, shared_database: str, app_login: str) -> AsyncIterator[Connect]:
    """Opens connections of a plain login, in autocommit as the store's are."""
    async with AsyncExitStack() as stack:

        async def connected() -> psycopg.AsyncConnection:
            url = server.url_of(app_login, shared_database)
            return await stack.enter_async_context(await psycopg.AsyncConnection.connect(url, autocommit=True))

        yield connected


async def refused(appender: AppendConnection, stream: Stream) -> str | None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as fault:
        await appender.append([a_request(a_write(stream, an_event()))])
    return fault.value.sqlstate


async def test_an_append_with_another_role_than_the_connections_is_refused(
    connect: Connect, postgres_store: PostgresStore, stream: Stream, app_login: str
) -> None:
    assert await refused(AppendConnection(await connect(), role="ledger_app"), stream) == "42501"
    assert await postgres_store.events.namespace(stream.namespace_id) is None
    await append(postgres_store, stream, an_event())
    await AppendConnection(await connect(), role=app_login).append([a_request(a_write(stream, an_event()))])
    assert (await postgres_store.events.head(stream))[0] == 2


async def test_an_append_that_would_not_wait_for_the_disk_is_refused(
    connect: Connect, postgres_store: PostgresStore, stream: Stream, app_login: str
) -> None:
    await append(postgres_store, stream, an_event())
    hasty, warned = await connect(), await connect()
    await hasty.execute("SET synchronous_commit = off")
    await warned.execute("SET synchronous_commit = off")
    assert await refused(AppendConnection(hasty, role=app_login), stream) == "42501"
    unsafe = AppendConnection(warned, role=app_login, allow_unsafe=True)
    await unsafe.append([a_request(a_write(stream, an_event()))])
    assert (await postgres_store.events.head(stream))[0] == 2


async def test_an_append_after_set_role_is_refused(
    server: Server, shared_database: str, postgres_store: PostgresStore, stream: Stream
) -> None:
    await append(postgres_store, stream, an_event())
    async with await psycopg.AsyncConnection.connect(
        server.database(shared_database), autocommit=True, options="-c role=ledger_app"
    ) as connection:
        await connection.execute("SET ROLE NONE")
        assert await refused(AppendConnection(connection, role="ledger_app"), stream) == "42501"
        await connection.execute("DISCARD ALL")
        appender = AppendConnection(connection, role="ledger_app")
        await appender.append([a_request(a_write(stream, an_event()))])


@pytest.mark.parametrize(("function", "arguments"), [("append", 29), ("append_stream", 23)])
async def test_an_append_without_a_namespace_or_a_role_is_refused(
    connect: Connect, stream: Stream, app_login: str, function: str, arguments: int
) -> None:
    connection = await connect()
    nulls = ", ".join(["NULL"] * (arguments - 2))
    for namespace_id, role in ((None, app_login), (stream.namespace_id, None), (stream.namespace_id, "ledger_owner")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute(f"SELECT ledger.{function}(%s::uuid, %s, {nulls})", (namespace_id, role))


async def test_a_plain_login_writes_and_reads_as_any_other(
    server: Server, shared_database: str, app_login: str, stream: Stream
) -> None:
    store = await PostgresStore.open(Target(server.url_of(app_login, shared_database)))
    assert store.login.role == app_login
    assert not store.login.could_rewrite
    await append(store, stream, an_event())
    assert len(await store.events.read_stream(stream)) == 1
    await store.close()


async def test_a_store_whose_connections_lost_their_role_fails_clearly(
    server: Server, shared_database: str, stream: Stream
) -> None:
    store = await PostgresStore.open(server.target(shared_database))
    await append(store, stream, an_event())
    for _, driver, *_ in store._events._appenders._idle:
        await driver.execute("SET ROLE ledger_verifier")
    with pytest.raises(NotAllowed, match="doctor"):
        await append(store, stream, an_event())
    await store.close()


async def test_an_append_prepares_again_only_the_statement_that_the_connection_lost(
    connect: Connect, postgres_store: PostgresStore, stream: Stream, app_login: str
) -> None:
    """After a rollback the driver drops all statements; another may have been prepared since."""
    await append(postgres_store, stream, an_event())
    connection = await connect()
    appender = AppendConnection(connection, role=app_login)
    alone = [a_request(a_write(stream, an_event()))]
    await appender.append(alone)
    await connection.execute("DEALLOCATE ALL")
    await appender.append([a_request(a_write(stream, an_event()))], retry=True)
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        await appender.append(alone)
    await appender.append(alone)
    await appender.append([a_request(a_write(stream, an_event()))], retry=True)
    assert (await postgres_store.events.head(stream))[0] == 5
