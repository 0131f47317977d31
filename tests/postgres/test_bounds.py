"""What the tables of the log hold in every row, whoever writes it. Source: trust D-3, D-4."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.databases import Server

pytestmark = pytest.mark.postgres

EVENT = {
    "position": "1",
    "version": "1",
    "occurred_at": "now()",
    "recorded_at": "now()",
    "namespace_id": "gen_random_uuid()",
    "stream_id": "gen_random_uuid()",
    "event_id": "gen_random_uuid()",
    "schema_version": "1",
    "codec": "0",
    "type": "'entry.added'",
    "actor": "''",
    "structure": "'{}'",
    "hash": "sha256('')",
}
#: What is too much or too little: the columns that make a good row a bad one.
BAD = {
    "a hash of 31 bytes": {"hash": "substring(sha256(''), 2)"},
    "a digest of 33 bytes": {"codec": "1", "content_digest": "sha256('') || '\\x00'"},
    "content without digest": {"content": "'a'"},
    "a digest with the codec of none": {"content_digest": "sha256('')"},
    "version 0": {"version": "0"},
    "position 0": {"position": "0"},
    "a key without commitment": {"key_id": "gen_random_uuid()"},
    "a commitment without key": {"key_commitment": "sha256('')"},
    "an actor of 513 bytes": {"actor": "repeat('a', 513)"},
    "a structure over 8 MiB": {"structure": "convert_to(repeat('a', 8388609), 'UTF8')"},
    "content over 8 MiB": {
        "codec": "1",
        "content_digest": "sha256('')",
        "content": "convert_to(repeat('a', 8388609), 'UTF8')",
    },
}


@pytest.fixture
def mighty(server: Server, shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    """A superuser in a transaction that is undone."""
    with server.superuser(shared_database) as connection, connection.transaction(force_rollback=True):
        yield connection


def insert(connection: psycopg.Connection[Any], columns: dict[str, str]) -> None:
    """Insert one row; the columns are SQL."""
    row = {**EVENT, **columns}
    names = ", ".join(f'"{name}"' for name in row)
    connection.execute(f"INSERT INTO ledger.events ({names}) SELECT {', '.join(row.values())}".encode())


@pytest.mark.parametrize("case", BAD)
def test_a_row_out_of_bounds_is_refused(case: str, mighty: psycopg.Connection[Any]) -> None:
    """trust D-4."""
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(mighty, BAD[case])


def test_a_row_within_bounds_is_taken(mighty: psycopg.Connection[Any]) -> None:
    """Negative control: it is the bound that refuses."""
    insert(mighty, {"key_id": "gen_random_uuid()", "key_commitment": "sha256('')"})
    insert(mighty, {"actor": "repeat('a', 512)"})
    insert(mighty, {"structure": "convert_to(repeat('a', 8388608), 'UTF8')"})


def test_content_lies_in_its_event_as_it_is(mighty: psycopg.Connection[Any]) -> None:
    """trust D-3: not compressed, and null once it is erased."""
    found = mighty.execute("""
        SELECT a.attstorage, a.attnotnull FROM pg_attribute a
        WHERE a.attrelid = 'ledger.events'::regclass AND a.attname = 'content'
    """).fetchall()
    assert found == [("e", False)]
