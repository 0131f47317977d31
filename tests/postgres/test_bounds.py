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
    "payload_digest": "sha256('')",
    "hash": "sha256('')",
}
PAYLOAD = {"namespace_id": "gen_random_uuid()", "position": "1", "bytes": "''"}
#: What is too much or too little: the table, and the columns that make a good row of it a bad one.
BAD = {
    "a hash of 31 bytes": ("events", {"hash": "substring(sha256(''), 2)"}),
    "a digest of 33 bytes": ("events", {"payload_digest": "sha256('') || '\\x00'"}),
    "version 0": ("events", {"version": "0"}),
    "position 0": ("events", {"position": "0"}),
    "a key without commitment": ("events", {"key_id": "gen_random_uuid()"}),
    "a commitment without key": ("events", {"key_commitment": "sha256('')"}),
    "an actor of 513 bytes": ("events", {"actor": "repeat('a', 513)"}),
    "a payload over 8 MiB": ("payloads", {"bytes": "convert_to(repeat('a', 8388609), 'UTF8')"}),
    "a payload at position 0": ("payloads", {"position": "0"}),
}


@pytest.fixture
def mighty(server: Server, shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    """A superuser in a transaction that is undone."""
    with server.superuser(shared_database) as connection, connection.transaction(force_rollback=True):
        yield connection


def insert(connection: psycopg.Connection[Any], table: str, columns: dict[str, str]) -> None:
    """Insert one row; the columns are SQL."""
    row = {**(EVENT if table == "events" else PAYLOAD), **columns}
    names = ", ".join(f'"{name}"' for name in row)
    connection.execute(f"INSERT INTO ledger.{table} ({names}) SELECT {', '.join(row.values())}".encode())


@pytest.mark.parametrize("case", BAD)
def test_a_row_out_of_bounds_is_refused(case: str, mighty: psycopg.Connection[Any]) -> None:
    """trust D-4."""
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(mighty, *BAD[case])


def test_a_row_within_bounds_is_taken(mighty: psycopg.Connection[Any]) -> None:
    """Negative control: it is the bound that refuses."""
    insert(mighty, "events", {"key_id": "gen_random_uuid()", "key_commitment": "sha256('')"})
    insert(mighty, "events", {"actor": "repeat('a', 512)"})
    insert(mighty, "payloads", {"bytes": "convert_to(repeat('a', 8388608), 'UTF8')"})


def test_the_bytes_of_a_payload_lie_beside_its_event_as_they_are(mighty: psycopg.Connection[Any]) -> None:
    """trust D-3: in a table of their own, and not compressed."""
    found = mighty.execute("""
        SELECT c.relname, a.attname, a.attstorage FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'ledger'::regnamespace AND c.relname IN ('events', 'payloads') AND a.attname = 'bytes'
    """).fetchall()
    assert found == [("payloads", "bytes", "e")]
