"""A search reads no row of another namespace, whatever rows are there: one filter for each read. Source: trust P-10."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ledger.events.ids import Stream, namespace_id
from ledger.indexes.search.index_builds import VERSION
from ledger.indexes.stored_projections.build_choice import Build
from ledger.stores.postgres import PostgresStore
from projections.words.ranking import DEFAULT_RANKING
from tests.support.databases import Server
from tests.support.ledgers import ledger_over

pytestmark = pytest.mark.postgres

OURS, THEIRS = namespace_id("ours"), namespace_id("theirs")
CHILD: Final = Stream.of("ours", "child", "ann")
STRANGER: Final = Stream.of("ours", "stranger", "bob")
CALL = """
SELECT s::text
FROM ledger.search(
    %(ours)s, %(build)s, ARRAY['walnut', 'pine'], '[]', %(ranking)s, ARRAY['entry'], %(stream)s, %(user)s, NULL,
    true, 50
) AS s
"""
FILTER: Final = "namespace_id = p_namespace_id"
#: Reads that only say where the reads after them look, each with its own filter; `test_routable_sql` demands theirs.
GUIDES: Final = [4, 5]
#: Rows of theirs that no honest writer makes: with the ids of our streams, but other words, counts and parents.
PLANTED: Final = (
    """
    INSERT INTO ledger.search_terms
    SELECT %(theirs)s, projection_version, lexeme, pieces * 3 + 40, words * 5 + 900
    FROM ledger.search_terms WHERE namespace_id = %(ours)s
    """,
    """
    INSERT INTO ledger.search_entries
    SELECT (jsonb_populate_record(e, jsonb_build_object('namespace_id', %(theirs)s::uuid, 'version', version + far))).*
    FROM ledger.search_entries e CROSS JOIN (VALUES (0), (1), (-1)) AS f (far)
    WHERE e.namespace_id = %(ours)s AND e.version + far > 0
    ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO ledger.search_forks
    SELECT %(theirs)s, projection_version, stream_id, a.ancestor_id, a.until, 1, '{}', '{}', user_id, 'planted'
    FROM ledger.search_forks f
    CROSS JOIN LATERAL (VALUES (f.ancestor_id, f.until), (%(stranger)s, 1000)) AS a (ancestor_id, until)
    WHERE namespace_id = %(ours)s
    """,
)


@pytest.fixture(scope="module")
def database(server: Server, quiet_database: str) -> str:
    """A database with a session of ours, its fork, and one of somebody else; nothing is theirs yet."""

    async def fill() -> None:
        store = await PostgresStore.open(server.target(quiet_database))
        ledger = ledger_over(store, namespace="ours")
        for text in ("the walnut fell", "a pine stood by the walnut", "yes", "the pine"):
            await ledger.add_user_message("parent", text, user_id="ann")
        await ledger.fork("parent", "child", user_id="ann", new_user_id="ann")
        for text in ("a walnut again", "no"):
            await ledger.add_user_message("child", text, user_id="ann")
        entries = (await ledger.get_state("parent", user_id="ann")).window.entries
        await ledger.remove_entry("parent", next(iter(entries)).entry_id, user_id="ann")
        for text in ("whose walnut is it", "pine", "my walnut", "yes", "walnut"):
            await ledger.add_user_message("stranger", text, user_id="bob")
        assert len(await ledger.search("walnut")) == 6
        await store.close()

    asyncio.run(fill())
    return quiet_database


@pytest.fixture
def mighty(server: Server, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A superuser in a transaction that is undone."""
    with server.superuser(database) as mighty, mighty.transaction(force_rollback=True):
        yield mighty


def found(mighty: psycopg.Connection[Any]) -> list[list[Any]]:
    """Search as the application in the namespace, for a user and in a fork; return whole rows, scores too."""
    values = {"ours": OURS, "build": Build(VERSION * 100, 1).key, "ranking": Jsonb(DEFAULT_RANKING.model_dump())}
    scopes = ((None, None), (None, "ann"), (None, "bob"), (CHILD.stream_id, None))
    mighty.execute("SET LOCAL ROLE ledger_app")
    rows = [mighty.execute(CALL, {**values, "stream": stream, "user": user}).fetchall() for stream, user in scopes]
    mighty.execute("RESET ROLE")
    return rows


def plant(mighty: psycopg.Connection[Any]) -> None:
    for statement in PLANTED:
        values = {"ours": OURS, "theirs": THEIRS, "stranger": STRANGER.stream_id}
        assert mighty.execute(statement, values).rowcount > 0


def definition(mighty: psycopg.Connection[Any]) -> str:
    row = mighty.execute("SELECT pg_get_functiondef('ledger.search'::regproc)").fetchone()
    assert row
    return str(row[0])


def test_rows_of_another_namespace_change_no_search(mighty: psycopg.Connection[Any]) -> None:
    before = found(mighty)
    assert all(before), "each scope finds something"
    plant(mighty)
    assert found(mighty) == before


def test_each_filter_is_needed(mighty: psycopg.Connection[Any]) -> None:
    """Negative control: without any one of them, those rows are seen."""
    before, whole = found(mighty), definition(mighty)
    plant(mighty)
    parts = whole.split(FILTER)
    unseen = []
    for place in range(1, len(parts)):
        broken = FILTER.join(parts[:place]) + "namespace_id IS NOT NULL" + FILTER.join(parts[place:])
        mighty.execute(broken)
        if found(mighty) == before:
            unseen.append(place)
    mighty.execute(whole)
    assert len(parts) == 13, "every read is tried"
    assert unseen == GUIDES
