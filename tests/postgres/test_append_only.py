"""No event is ever changed or deleted, not even by our own login. Source: trust P-3, D-6, D-9, D-12, R-7.

Every attack is made by the application role with its namespace set, once as a plain login and once as the
embedded default enters: as superuser, with the role as an option. The latter is a guard against mistakes
only, for hostile SQL may say SET ROLE (trust D-9); so that one attack is made by the plain login alone.
"""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from ledger.events.ids import Stream
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, some_events

pytestmark = pytest.mark.postgres

STREAM = Stream.of("guarded", "session-1")
TABLES = ("namespaces", "streams", "events", "append_requests")

#: Attack → statements. What needs the arguments of a function is completed by `null_call`.
ATTACKS = {
    "update": "UPDATE ledger.events SET actor = 'mallory'",
    "update bytes": "UPDATE ledger.events SET content = ''",
    "delete": "DELETE FROM ledger.events",
    "erase": "UPDATE ledger.events SET content = NULL",
    "truncate": "TRUNCATE ledger.events",
    "truncate cascade": "TRUNCATE ledger.namespaces CASCADE",
    "insert": "INSERT INTO ledger.events SELECT * FROM ledger.events",
    "upsert": "INSERT INTO ledger.events SELECT * FROM ledger.events"
    " ON CONFLICT (namespace_id, stream_id, version) DO UPDATE SET actor = 'mallory'",
    "merge": "MERGE INTO ledger.events e USING ledger.events s ON e.event_id = s.event_id WHEN MATCHED THEN DELETE",
    "writable cte": "WITH deleted AS (DELETE FROM ledger.events RETURNING *) SELECT * FROM deleted",
    "copy in": "COPY ledger.events FROM STDIN",
    "copy to program": "COPY ledger.events TO PROGRAM 'cat'",
    "copy to file": "COPY ledger.events TO '/tmp/events'",
    "drop": "DROP TABLE ledger.events",
    "drop schema": "DROP SCHEMA ledger CASCADE",
    "alter": "ALTER TABLE ledger.events ADD COLUMN more text",
    "alter type": "ALTER TABLE ledger.events ALTER COLUMN trace TYPE text USING 'mallory'",
    "owner": "ALTER TABLE ledger.events OWNER TO ledger_app",
    "disable trigger": "ALTER TABLE ledger.events DISABLE TRIGGER ALL",
    "drop trigger": "DROP TRIGGER events_append_only ON ledger.events",
    "replace trigger function": "CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger"
    " LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "replica": "SET session_replication_role = replica",
    "alter policy": "ALTER POLICY namespace_isolation ON ledger.events USING (true)",
    "new policy": "CREATE POLICY open ON ledger.events USING (true)",
    "no row security": "ALTER TABLE ledger.events DISABLE ROW LEVEL SECURITY",
    "row security off": "SET LOCAL row_security = off; SELECT * FROM ledger.events",
    "select for update": "SELECT * FROM ledger.events FOR UPDATE",
    "lock": "LOCK TABLE ledger.events",
    "counter": "UPDATE ledger.namespaces SET last_position = 0",
    "head": "UPDATE ledger.streams SET version = 0",
    "request": "DELETE FROM ledger.append_requests",
    "create": "CREATE TABLE ledger.mine (x int)",
    "create in public": "CREATE FUNCTION public.append() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "grant": "GRANT ledger_owner TO ledger_app",
    "append_checked": "null call",
    "item_known": "null call",
    "name_uuid": "null call",
    "fork_point": "null call",
    "fork": "UPDATE ledger.streams SET parent_id = NULL, parent_version = NULL",
    "restore_events": "null call",
    "refuse_change": "null call",
}
AS_PLAIN_LOGIN_ONLY = {
    "set role owner": "SET ROLE ledger_owner",
    "become owner": "SET SESSION AUTHORIZATION ledger_owner",
    "create role": "CREATE ROLE mallory",
}


@pytest.fixture(scope="module")
def database(server: Server, quiet_database: str) -> str:
    """A database whose log, heads and requests have something to lose."""

    async def fill() -> None:
        store = await PostgresStore.open(server.target(quiet_database))
        await store.events.append(a_request(a_write(STREAM, *some_events(5)), key="k"))
        await store.close()

    asyncio.run(fill())
    return quiet_database


def contents(server: Server, database: str) -> list[object]:
    """Return everything in the guarded tables."""
    with server.superuser(database) as mighty:
        return [mighty.execute(f"SELECT t::text FROM ledger.{table} t ORDER BY 1").fetchall() for table in TABLES]


@pytest.fixture(params=["plain login", "embedded login"])
def attacker(
    request: pytest.FixtureRequest, server: Server, database: str, app_login: str
) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection as the application's, in a transaction with the namespace set."""
    if request.param == "plain login":
        url, options = server.url_of(app_login, database), {}
    else:
        url, options = server.database(database), {"options": "-c role=ledger_app"}
    with psycopg.connect(url, **options) as connection:
        set_namespace(connection, STREAM)
        assert connection.execute("SELECT count(*) FROM ledger.events").fetchone() == (5,)
        yield connection
        connection.rollback()


def set_namespace(connection: psycopg.Connection[tuple[object, ...]], stream: Stream) -> None:
    connection.execute("SELECT set_config('ledger.namespace', %s, true)", (str(stream.namespace_id),))


def null_call(server: Server, database: str, function: str) -> str:
    """Return a call of a function of ours with a null for every argument."""
    with server.superuser(database) as mighty:
        row = mighty.execute(
            "SELECT array(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t) FROM pg_proc"
            " WHERE proname = %s AND pronamespace = 'ledger'::regnamespace",
            (function,),
        ).fetchone()
    assert row is not None
    return f"SELECT ledger.{function}({', '.join(f'NULL::{type_}' for type_ in row[0])})"  # type: ignore[attr-defined]


def attack(connection: psycopg.Connection[tuple[object, ...]], statements: str) -> None:
    with connection.cursor() as cursor:
        if statements.startswith("COPY") and statements.endswith("STDIN"):
            with cursor.copy(statements) as copy:
                copy.write_row([])
        else:
            cursor.execute(statements)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_application_cannot(
    name: str, server: Server, database: str, attacker: psycopg.Connection[tuple[object, ...]]
) -> None:
    before = contents(server, database)
    statements = ATTACKS[name] if ATTACKS[name] != "null call" else null_call(server, database, name)
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
        attack(attacker, statements)
    assert refused.value.sqlstate == "42501"
    attacker.rollback()
    assert contents(server, database) == before


@pytest.mark.parametrize("name", AS_PLAIN_LOGIN_ONLY)
def test_a_plain_login_cannot(name: str, server: Server, database: str, app_login: str) -> None:
    with (
        psycopg.connect(server.url_of(app_login, database)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(AS_PLAIN_LOGIN_ONLY[name])


@pytest.mark.parametrize("name", ["update", "update bytes", "erase", "delete", "truncate"])
@pytest.mark.parametrize("role", ["origin", "replica"])
def test_the_triggers_stop_even_a_superuser(name: str, role: str, server: Server, database: str) -> None:
    before = contents(server, database)
    with server.superuser(database) as mighty:
        mighty.execute(f"SET session_replication_role = {role}")
        with pytest.raises(psycopg.errors.DatabaseError) as refused:
            mighty.execute(ATTACKS[name])
        assert refused.value.sqlstate == "LG000"
    assert contents(server, database) == before


def test_the_owner_is_stopped_by_its_own_triggers(server: Server, database: str) -> None:
    with server.superuser(database) as mighty, mighty.transaction(force_rollback=True):
        mighty.execute("SET LOCAL ROLE ledger_owner")
        set_namespace(mighty, STREAM)
        with pytest.raises(psycopg.errors.DatabaseError) as refused:
            mighty.execute("DELETE FROM ledger.events")
        assert refused.value.sqlstate == "LG000"


ERASE = "CREATE FUNCTION ledger.erase() RETURNS void LANGUAGE sql {} AS 'SELECT'"
#: What an owner of a function that erases may not do with it.
NOT_ERASING = {
    "other bytes": "content = 'other'",
    "more than the content": "content = NULL, actor = 'mallory'",
    "a column that is null": "content = NULL, trace = 'mallory'",
    "a column that is not hashed": "content = NULL, item_id = 'other'",
    "structure": "content = NULL, structure = '{}'",
    "its digest too": "content = NULL, content_digest = NULL, codec = 0",
    "nothing": "actor = actor",
}


@pytest.fixture
def owner(server: Server, database: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """The owner in a transaction that is undone, with the namespace set."""
    with server.superuser(database) as mighty, mighty.transaction(force_rollback=True):
        mighty.execute("SET LOCAL ROLE ledger_owner")
        set_namespace(mighty, STREAM)
        yield mighty


def test_the_owner_of_the_function_that_erases_may_set_content_to_null_once(
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    """trust D-6: the one exception; `verify` says TAMPERED to it, as there are no erasure events yet (trust D-3)."""
    owner.execute(ERASE.format("SECURITY DEFINER"))
    assert owner.execute("UPDATE ledger.events SET content = NULL WHERE position = 3").rowcount == 1
    assert owner.execute("SELECT position FROM ledger.events WHERE content IS NULL").fetchall() == [(3,)]
    with pytest.raises(psycopg.errors.DatabaseError, match="append-only"):
        owner.execute("UPDATE ledger.events SET content = NULL WHERE position = 3")


@pytest.mark.parametrize("change", NOT_ERASING)
def test_it_may_do_nothing_else(change: str, owner: psycopg.Connection[tuple[object, ...]]) -> None:
    owner.execute(ERASE.format("SECURITY DEFINER"))
    with pytest.raises(psycopg.errors.DatabaseError, match="append-only") as refused:
        owner.execute(f"UPDATE ledger.events SET {NOT_ERASING[change]}")
    assert refused.value.sqlstate == "LG000"


@pytest.mark.parametrize("function", [None, "", "of another owner"])
def test_without_such_a_function_of_its_own_nobody_may(
    function: str | None, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    """A superuser neither; it stands for every role that does not own the function."""
    if function is not None:
        owner.execute(ERASE.format("SECURITY DEFINER" if function else "SECURITY INVOKER"))
    if function:
        owner.execute("RESET ROLE")
    with pytest.raises(psycopg.errors.DatabaseError, match="append-only"):
        owner.execute("UPDATE ledger.events SET content = NULL")


def test_without_its_triggers_and_grants_the_attacks_succeed(server: Server, fresh_database: str) -> None:
    """Negative control: the matrix measures the guards, not the attacks' own faults."""

    async def fill() -> None:
        store = await PostgresStore.open(server.target(fresh_database))
        await store.events.append(a_request(a_write(STREAM, an_event())))
        await store.close()

    asyncio.run(fill())
    with server.superuser(fresh_database) as mighty:
        mighty.execute("GRANT ALL ON ALL TABLES IN SCHEMA ledger TO ledger_app")
        mighty.execute("ALTER TABLE ledger.events DISABLE TRIGGER ALL")
    with psycopg.connect(server.database(fresh_database), options="-c role=ledger_app") as connection:
        set_namespace(connection, STREAM)
        for name in ("update", "update bytes", "erase", "upsert", "writable cte"):
            connection.execute(ATTACKS[name])
        assert connection.execute("SELECT count(*) FROM ledger.events").fetchone() == (0,)
        connection.execute(ATTACKS["truncate"])
