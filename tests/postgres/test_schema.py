"""The schema keeps its laws, and is the one that ``schema.sql`` and ``tables.py`` say it is."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from ledger.stores.postgres import catalogue, tables
from tests.support.catalog import BREACHES, LAWS
from tests.support.databases import Server
from tests.support.schema import SCHEMA, dump, without_vectors

pytestmark = pytest.mark.postgres

Mighty = psycopg.Connection[Any]


@pytest.fixture(params=["server", "server_15"], scope="module")
def each_server(request: pytest.FixtureRequest) -> Server:
    """The newest PostgreSQL and the oldest."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="module")
def migrated(each_server: Server) -> Iterator[str]:
    """A migrated database, which the tests leave as it is."""
    with each_server.fresh() as name:
        yield name


@pytest.fixture
def mighty(each_server: Server, migrated: str) -> Iterator[Mighty]:
    """A superuser in a transaction that is undone."""
    with each_server.superuser(migrated) as connection, connection.transaction(force_rollback=True):
        yield connection


@pytest.mark.parametrize("law", LAWS)
def test_the_schema_keeps_the_law(law: str, mighty: Mighty) -> None:
    """trust D-1, D-2, D-5, D-6, D-7."""
    assert mighty.execute(LAWS[law]).fetchall() == []


@pytest.mark.parametrize("law", LAWS)
def test_a_breach_of_the_law_is_seen(law: str, mighty: Mighty) -> None:
    """Negative control."""
    mighty.execute(BREACHES[law])
    assert mighty.execute(LAWS[law]).fetchall() != []


def test_the_catalogue_is_that_of_the_release(mighty: Mighty) -> None:
    """trust K-3, on the newest PostgreSQL and the oldest."""
    assert catalogue.differences(mighty.execute(catalogue.QUERY).fetchall(), has_roles=True) == []


#: What changes the schema → what is named, and whether the log relies on it.
CHANGES = {
    "ALTER TABLE ledger.events DROP CONSTRAINT events_namespace_id_position_key": [
        ("constraint events.events_namespace_id_position_key is missing", True),
        ("index events_namespace_id_position_key is missing", True),
    ],
    "ALTER TABLE ledger.events DISABLE TRIGGER events_append_only": [
        ("trigger events.events_append_only was changed", True)
    ],
    "CREATE RULE lost AS ON INSERT TO ledger.events DO INSTEAD NOTHING": [("rule events.lost is added", True)],
    "CREATE TABLE forged () INHERITS (ledger.events)": [("inheritance of ledger.events by forged is added", True)],
    "CREATE TABLE ledger.forged () INHERITS (ledger.streams)": [
        ("inheritance of ledger.streams by ledger.forged is added", True),
        ("table forged is added", False),
    ],
    "ALTER DOMAIN ledger.ordinal DROP CONSTRAINT ordinal_check": [
        ("constraint ordinal.ordinal_check is missing", True)
    ],
    "ALTER POLICY namespace_isolation ON ledger.records USING (true)": [
        ("policy records.namespace_isolation was changed", False)
    ],
    "ALTER TABLE ledger.streams OWNER TO postgres": [("table streams was changed", True)],
    "CREATE OR REPLACE FUNCTION ledger.name_uuid(p_space uuid, p_name text) RETURNS uuid LANGUAGE sql AS 'SELECT $1'": [
        ("function name_uuid(p_space uuid, p_name text) was changed", True)
    ],
    "GRANT INSERT ON ledger.events TO ledger_app": [("grant on table events was changed", True)],
    "DROP TABLE ledger.jobs": [("", False)],
    "CREATE INDEX ON ledger.records (event_date)": [],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_catalogue_is_named(change: str, mighty: Mighty) -> None:
    mighty.execute(change)
    found = catalogue.differences(mighty.execute(catalogue.QUERY).fetchall(), has_roles=True)
    named = CHANGES[change]
    if change.startswith("DROP TABLE"):
        assert len(found) > 3
        assert all(each.problem.endswith("missing") and not each.guards_log for each in found)
    else:
        assert set(named) <= {(each.problem, each.guards_log) for each in found}
        assert bool(named) is bool(found)


@pytest.mark.parametrize("law", LAWS)
def test_a_breach_of_the_law_changes_the_catalogue(law: str, mighty: Mighty) -> None:
    mighty.execute(BREACHES[law])
    found = catalogue.differences(mighty.execute(catalogue.QUERY).fetchall(), has_roles=True)
    assert bool(found) is (law != "no role of ours logs in or is above the law")  # the role checks of trust D-10


def test_a_partition_without_its_own_triggers_is_seen(mighty: Mighty) -> None:
    """TRUNCATE triggers do not reach partitions (trust D-6): the law looks at every leaf."""
    mighty.execute("""
        ALTER TABLE ledger.events RENAME TO leaf;
        CREATE TABLE ledger.events (LIKE ledger.leaf INCLUDING DEFAULTS) PARTITION BY LIST (namespace_id);
        CREATE TRIGGER rows BEFORE UPDATE OR DELETE ON ledger.events
            FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
        CREATE TRIGGER truncation BEFORE TRUNCATE ON ledger.events
            FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
        ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER rows;
        ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER truncation;
        CREATE TABLE ledger.bare PARTITION OF ledger.events DEFAULT;
    """)
    broken = mighty.execute(LAWS["changing the log ends in a trigger that always fires"]).fetchall()
    assert ("ledger.bare truncate",) in broken


def test_the_dump_is_that_of_a_migrated_database(each_server: Server, migrated: str) -> None:
    schema = SCHEMA.read_text()
    with each_server.superuser(migrated) as mighty:
        expected = schema if has_vectors(mighty) else without_vectors(schema)
    assert dump(each_server.database(migrated)) == expected, "run `make schema`, and look at what changed"
    assert "CREATE TABLE ledger.search_embeddings" in schema
    assert "_embeddings" not in without_vectors(schema)


def test_another_schema_has_another_dump(each_server: Server) -> None:
    """Negative control."""
    with each_server.fresh() as name:
        with each_server.superuser(name) as mighty:
            mighty.execute("ALTER TABLE ledger.events ALTER COLUMN trace SET NOT NULL")
        assert dump(each_server.database(name)) != SCHEMA.read_text()


def columns(mighty: Mighty, table: str) -> dict[str, tuple[str, bool]]:
    """Return the columns of a table as (type below any domain, may it be null)."""
    rows = mighty.execute(
        "SELECT a.attname, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL), NOT a.attnotnull"
        " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE a.attrelid = ('ledger.' || %s)::regclass AND a.attnum > 0 ORDER BY a.attnum",
        (table,),
    ).fetchall()
    return {name: (type_, nullable) for name, type_, nullable in rows}


def has_vectors(mighty: Mighty) -> bool:
    found = mighty.execute("SELECT to_regclass('ledger.search_embeddings') IS NOT NULL").fetchone()
    return found == (True,)


@pytest.mark.parametrize("table", tables.metadata.sorted_tables, ids=str)
def test_the_tables_of_queries_are_those_the_migrations_make(table: sa.Table, mighty: Mighty) -> None:
    if table in (tables.search_embeddings, tables.record_embeddings) and not has_vectors(mighty):
        extension = mighty.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'").fetchall()
        assert extension == [], "this server has pgvector, but not the table"
        return
    dialect = sa.create_engine("postgresql+psycopg://").dialect
    declared = {
        column.name: (column.type.compile(dialect).lower().replace("(", "").replace(")", ""), bool(column.nullable))
        for column in table.columns
    }
    assert declared == columns(mighty, table.name)
