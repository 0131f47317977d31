"""Every statement can be routed to the server of its namespace. Source: trust D-14, D-15."""

import pytest

from tests.support.routable_sql import breaches, files, statements, tables

TABLES = tables()
FILES = files()
#: One lists the namespaces, so that others can ask for each (trust D-7); by one the owner makes indexes; by the others
#: doctor asks one server about all its namespaces (trust V-9).
EXEMPT = {"namespace_ids.sql", "large_vectors.sql", "failing_summaries.sql", "stuck_indexes.sql"}

#: Statements, and what is wrong with them.
BAD = {
    "SELECT * FROM ledger.events e WHERE e.stream_id = %(stream)s": ["events has no filter on a namespace"],
    "SELECT * FROM ledger.events": ["events has no filter on a namespace"],
    "SELECT * FROM ledger.streams AS s, ledger.events AS e"
    " WHERE s.namespace_id = $1 AND e.namespace_id = s.namespace_id": ["events has no filter on a namespace"],
    "SELECT e.* FROM (SELECT set_config('ledger.namespace', $1, true)::uuid AS id OFFSET 0) AS ns"
    " CROSS JOIN LATERAL (SELECT * FROM ledger.events e WHERE e.namespace_id = ns.id) AS e": [
        "events has no filter on a namespace"
    ],
    "DELETE FROM jobs j USING streams s WHERE j.namespace_id = p_namespace_id AND s.stream_id = j.stream_id": [
        "streams has no filter on a namespace"
    ],
    "SELECT f.version FROM (SELECT e.namespace_id, e.version FROM events e WHERE e.version > 5 OFFSET 0 ) AS f": [
        "events has no filter on a namespace"
    ],
    "INSERT INTO ledger.snapshots (stream_id) VALUES (%s)": ["rows of snapshots bring no namespace"],
    "UPDATE ledger.streams s SET created_at = clock_timestamp() WHERE s.namespace_id = $1": [
        "a volatile function in UPDATE"
    ],
    "INSERT INTO ledger.streams (namespace_id) VALUES ($1) RETURNING clock_timestamp()": [
        "a volatile function in RETURNING"
    ],
    "SELECT CASE WHEN $1 THEN clock_timestamp() END FROM ledger.streams s WHERE s.namespace_id = $1": [
        "a volatile function in CASE"
    ],
    "UPDATE streams s SET version = v_versions[i] WHERE s.namespace_id = p_namespace_id": [
        "an element of an array in SET"
    ],
    "WITH RECURSIVE l AS (SELECT s.stream_id FROM ledger.streams s WHERE s.namespace_id = $1)"
    " CYCLE stream_id SET r USING p SELECT * FROM l": ["a CYCLE clause"],
}
GOOD = [
    "SELECT * FROM ledger.events e WHERE e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s",
    "SELECT * FROM ledger.streams WHERE ledger.streams.namespace_id IN (%(a)s::UUID, %(b)s::UUID)",
    "SELECT * FROM streams s JOIN events e ON e.namespace_id = p_namespace_id WHERE s.namespace_id = p_namespace_id",
    "SELECT * FROM ledger.records r WHERE (r.namespace_id, r.projection_version) IN ((%(a)s, %(b)s))",
    "UPDATE ledger.jobs SET due_at = now() WHERE namespace_id = :namespace_id",
    "INSERT INTO ledger.jobs AS j (namespace_id, due_at) VALUES ($1, clock_timestamp())",
    "SELECT set_config('ledger.namespace', $1, true)",
    "SELECT FROM (SELECT e.namespace_id FROM events e WHERE e.version > 5 OFFSET 0 ) AS f WHERE f.namespace_id = $1",
]


@pytest.mark.parametrize("name", sorted(name for name in FILES if name not in EXEMPT))
def test_what_is_written_as_sql_keeps_the_rules(name: str) -> None:
    """Statements that SQLAlchemy builds are checked where they are sent: in the conformance suite."""
    found = {statement: breaches(statement, TABLES) for statement in statements(FILES[name])}
    assert {statement: wrong for statement, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("statement", BAD)
def test_a_breach_is_seen(statement: str) -> None:
    """Negative control."""
    assert breaches(statement, TABLES) == BAD[statement]


@pytest.mark.parametrize("statement", GOOD)
def test_a_statement_that_keeps_the_rules_is_taken(statement: str) -> None:
    assert breaches(statement, TABLES) == []


def test_nothing_is_overlooked() -> None:
    """The files are found: a query, a function, and the statement of an append, which is in Python."""
    assert {"read_stream.sql", "append.sql", "search.sql", "claim.sql"} <= FILES.keys()
    assert any(name.startswith("append_call.py") for name in FILES)
    assert {"events", "streams", "namespaces", "record_embeddings"} <= TABLES
