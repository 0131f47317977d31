"""A log with everything that lies beside it, and somebody who edits the tables."""

import random
from typing import Any, Final

import psycopg
from psycopg import sql

from ledger.history.state_loading import States
from ledger.indexes.jobs import WorkPlan
from ledger.indexes.jobs.job_index import BACKLOGS
from ledger.ports import Store
from ledger.ports.event_store import SchemaDifference
from ledger.worker.namespace_jobs import WorkedNamespace
from tests.support.attacked_log import without_guards
from tests.support.ledgers import ledger_over

#: Changed values by type, in SQL.
_CHANGES: Final = {
    "bigint": "coalesce({c}, 0) + 1",
    "integer": "coalesce({c}, 0) + 1",
    "smallint": "coalesce({c}, 0) + 1",
    "text": "coalesce({c}, '') || 'x'",
    "text[]": "array_append({c}, 'x')",
    "uuid": "gen_random_uuid()",
    "boolean": "NOT {c}",
    "timestamp with time zone": "coalesce({c}, now()) + interval '1 second'",
    "int8multirange": "CASE WHEN isempty({c}) THEN int8multirange(int8range(1, 3)) ELSE int8multirange() END",
    "bytea": "CASE WHEN {c} IS NULL THEN sha256('') ELSE set_byte({c}, 0, 255 - get_byte({c}, 0)) END",
}
_COLUMNS: Final = """
    SELECT c.relname, a.attname, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), -1)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind = 'r'
        AND (c.relname = 'api_tokens'
            OR EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = c.oid AND n.attname = 'namespace_id'))
    ORDER BY 1, 2
"""


class Vandal:
    """Changes one value, or deletes one row, of a database; `undo` puts the table back."""

    def __init__(self, mighty: psycopg.Connection[Any], dice: random.Random) -> None:
        self._mighty, self._dice = mighty, dice
        self._columns = [each for each in mighty.execute(_COLUMNS).fetchall() if each[2] in _CHANGES]
        self._tables = sorted({table for table, _, _ in self._columns})
        for table in self._tables:
            self._run("CREATE TEMPORARY TABLE {saved} AS SELECT * FROM ledger.{table}", table)

    @property
    def tables(self) -> list[str]:
        """The tables with rows of namespaces, and that of tokens."""
        return self._tables

    def edit(self) -> tuple[str, str] | None:
        """Return table and column of an edit, or None if the database refused it or has no such row."""
        table, column, kind = self._dice.choice(self._columns)
        if self._dice.random() < 0.1:
            column, statement = "row", "DELETE FROM ledger.{table}"
        else:
            statement = "UPDATE ledger.{table} SET {column} = " + _CHANGES[kind].format(c="{column}")
        row = (
            " WHERE ctid = (SELECT ctid FROM ledger.{table} ORDER BY ctid"
            " OFFSET floor(%s * (SELECT count(*) FROM ledger.{table})) LIMIT 1)"
        )
        names = {"table": sql.Identifier(table), "column": sql.Identifier(column)}
        with without_guards(self._mighty):
            try:
                changed = self._mighty.execute(sql.SQL(statement + row).format(**names), (self._dice.random(),))
            except psycopg.IntegrityError:
                return None
        return (table, column) if changed.rowcount else None

    def undo(self, table: str) -> None:
        """Put every row of *table* back."""
        with without_guards(self._mighty), self._mighty.transaction():
            self._run("DELETE FROM ledger.{table}", table)
            self._run("INSERT INTO ledger.{table} SELECT * FROM {saved}", table)

    def _run(self, statement: str, table: str) -> None:
        names = {"table": sql.Identifier(table), "saved": sql.Identifier(f"saved_{table}")}
        self._mighty.execute(sql.SQL(statement).format(**names))


def without_schema(store: Store) -> None:
    """Let `verify` pass over the schema, which no edit is about, and which takes most of its time."""

    async def unchanged() -> list[SchemaDifference]:
        return []

    store.events.schema_differences = unchanged  # type: ignore[method-assign]


async def filled(store: Store, namespace: str) -> None:
    """Write a log with lives, a fork, records and a request, and build what lies beside it."""
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("one", "Where does Mia live?", entry_id="question", idempotency_key="first")
    await ledger.add_entries("one", [{"role": "user", "content": "x"} for _ in range(210)])
    await ledger._handle.services.commands.settle()
    await ledger.fork("one", "two", version=3)
    await ledger.add_user_message("two", "in the fork", entry_id="mine")
    await ledger.remove_entry("two", "question")
    await ledger.set_expiry("two", 10**6)
    await ledger.add_user_message("three", "short")
    await ledger.clear_session("three", end=True)
    serving = ledger_over(store, namespace=namespace, config={"profile": "working_memory"})
    await serving.add_user_message("four", "to be extracted", metadata={"run_id": "run"})
    await ledger.long_term.create([{"id": "r", "text": "Mia lives in Oslo"}])  # last: all builds end at the same event
    await ledger.list_sessions()
    await ledger.search("Mia")
    await ledger.long_term.get("r")
    worked = WorkedNamespace(serving._handle, WorkPlan(), States(store, BACKLOGS))
    await serving._handle.indexes.builds.catch_up(worked.jobs)
    await worked.catch_up()
