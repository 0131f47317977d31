"""Connections: who may open them, and on which servers. Source: trust P-2, D-9, D-10."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from psycopg import sql

from ledger.errors import DatabaseUnavailable, UnsafeDatabase, UnsafeRole
from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore, Target, connector
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.connector import Connector, Driver
from tests.postgres.conftest import opened
from tests.support.databases import Server
from tests.support.store_requests import an_event, append

pytestmark = pytest.mark.postgres

#: What decides whether an acknowledged append survives (trust P-2).
DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")
#: Attributes of a login, roles it is a member of, whether it could rewrite history (trust D-10).
LOGINS = {
    "superuser": ("SUPERUSER", (), True),
    "bypasses row security": ("BYPASSRLS", ("ledger_app",), True),
    "member of the owner": ("", ("ledger_app", "ledger_owner"), True),
    "plain": ("", ("ledger_app",), False),
    "may create roles": ("CREATEROLE CREATEDB", ("ledger_app",), False),
}


@contextmanager
def unsafe(server: Server, name: str) -> Iterator[None]:
    """Turn a durability setting of the server off."""
    if server.name == "TEST_DATABASE_URL":
        pytest.skip("the server of TEST_DATABASE_URL may be in use by other tests")
    with server.superuser("postgres") as admin:

        def change(value: str) -> None:
            admin.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.SQL(value)))
            admin.execute("SELECT pg_reload_conf()")
            deadline = time.monotonic() + 30
            while admin.execute(f"SHOW {name}").fetchone() != (value,):
                assert time.monotonic() < deadline
                time.sleep(0.01)

        change("off")
        try:
            yield
        finally:
            change("on")
            admin.execute(f"ALTER SYSTEM RESET {name}")


@pytest.mark.parametrize("kind", LOGINS)
async def test_a_login_that_could_rewrite_history_is_refused(kind: str, server: Server, shared_database: str) -> None:
    attributes, roles, refused = LOGINS[kind]
    with server.login(*roles, attributes=attributes) as login:
        target = Target(server.url_of(login, shared_database))
        if refused:
            with pytest.raises(UnsafeRole, match=f"'{login}' could rewrite history; log in as a member of ledger_app"):
                await PostgresStore.open(target)
        else:
            async with opened(target) as store:
                assert store.login.role == login


async def test_set_role_does_not_hide_the_login(server: Server, shared_database: str) -> None:
    """SET ROLE NONE would undo it; so, unless embedded, the session's user is asked for too."""
    with server.login("ledger_app", "ledger_owner") as login:
        url = server.url_of(login, shared_database, options="-c role=ledger_app")
        with pytest.raises(UnsafeRole, match=login):
            await PostgresStore.open(Target(url))


async def test_the_embedded_superuser_acts_as_the_application(
    server: Server, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(server.target(shared_database)) as store:
        assert store.login.role == "ledger_app"
    monkeypatch.setattr(connector, "APPLICATION_ROLE", "postgres")
    with pytest.raises(UnsafeRole, match="postgres"):
        await PostgresStore.open(server.target(shared_database))


@pytest.mark.parametrize("name", DURABILITY)
async def test_a_server_that_may_lose_what_it_acknowledged_is_refused(
    name: str, server: Server, fresh_database: str, stream: Stream
) -> None:
    target = server.target(fresh_database)
    with unsafe(server, name):
        with pytest.raises(UnsafeDatabase, match=f"^{name} is off"):
            await PostgresStore.open(target)
        async with opened(Target(target.url, embedded=True, allow_unsafe=True)) as store:
            assert store.login.unsafe_settings == (name,)
            await append(store, stream, an_event())
    async with opened(target) as store:
        assert store.login.unsafe_settings == ()


async def test_every_new_connection_is_checked_not_only_the_first(
    server: Server, fresh_database: str, stream: Stream
) -> None:
    async with opened(server.target(fresh_database)) as store:
        await append(store, stream, an_event())
        with unsafe(server, "fsync"):
            with server.superuser("postgres") as admin:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (fresh_database,)
                )
            with pytest.raises(UnsafeDatabase):
                await append(store, stream, an_event())
            with pytest.raises(UnsafeDatabase):
                await store.events.read_stream(stream)
        await append(store, stream, an_event())
        assert len(await store.events.read_stream(stream)) == 2


async def test_a_server_too_old_is_refused(
    server: Server, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector, "OLDEST_SERVER", 990_000)
    with pytest.raises(UnsafeDatabase, match="15 or newer"):
        await PostgresStore.open(server.target(shared_database))


#: Refuse every append, and count them: a sequence does not go back.
_REFUSE = """
    CREATE SEQUENCE public.attempts;
    GRANT USAGE ON SEQUENCE public.attempts TO PUBLIC;
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM nextval('public.attempts');
        RAISE EXCEPTION 'not here' USING ERRCODE = '{}';
    END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON ledger.streams FOR EACH ROW EXECUTE FUNCTION public.refuse();
"""


async def test_a_migration_under_a_running_process_says_to_restart_it(
    server: Server, fresh_database: str, stream: Stream
) -> None:
    """trust R-7: its state is that of a statement which the server does not support."""
    async with opened(server.target(fresh_database)) as store:
        await append(store, stream, an_event())
        for _ in range(10):
            await store.events.head(stream)
        with server.superuser(fresh_database) as mighty:
            mighty.execute("ALTER TABLE ledger.streams ALTER COLUMN version TYPE numeric")
        with pytest.raises(DatabaseUnavailable, match="upgraded while this process ran; restart the process"):
            await store.events.head(stream)


@pytest.mark.parametrize("state", ["0A000", "42702"])
async def test_a_statement_that_the_server_does_not_support_is_not_tried_again(
    state: str, server: Server, fresh_database: str, stream: Stream
) -> None:
    """trust R-7: also not each request of a batch by itself."""
    async with opened(server.target(fresh_database)) as store:
        await append(store, stream, an_event())
        with server.superuser(fresh_database) as mighty:
            mighty.execute(_REFUSE.format(state))
            appends = [append(store, stream, an_event()) for _ in range(20)]
            answers = await asyncio.gather(*appends, return_exceptions=True)
            (attempts,) = mighty.execute("SELECT last_value FROM public.attempts").fetchone() or (0,)
        assert [type(answer) for answer in answers] == [UnsafeDatabase] * 20
        assert str(answers[0]).startswith("this server is not supported")
        assert int(str(attempts)) < 10


async def test_what_is_in_use_when_a_pool_closes_is_closed_after_it(server: Server, shared_database: str) -> None:
    """Whoever came in before the end may finish; nothing that it used stays open for ever."""
    pool = Pool(Connector(server.target(shared_database)))
    drivers: list[Driver] = []
    async with pool.transaction() as connection:
        used = (await connection.get_raw_connection()).driver_connection
        assert isinstance(used, Driver)
        drivers.append(used)
        await pool.close()
        await connection.exec_driver_sql("SELECT 1")
    async with pool.readers.use() as driver:
        drivers.append(driver)
    assert [driver.closed for driver in drivers] == [True, True]
