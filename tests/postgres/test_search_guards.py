"""Search sees the namespace it is given only, though its function may read all. Source: trust D-7, P-10."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ledger.events.ids import Stream
from ledger.indexes.search.index_builds import VERSION
from ledger.indexes.stored_projections.build_choice import Build
from ledger.stores.postgres import PostgresStore, Target
from projections.words.ranking import DEFAULT_RANKING
from tests.support.databases import Server
from tests.support.ledgers import ledger_over

pytestmark = pytest.mark.postgres

OURS = Stream.of("ours", "session-1")
THEIRS = Stream.of("theirs", "session-1")
RANKING = Jsonb(DEFAULT_RANKING.model_dump())
#: The first build of the version of these tests, in the first language.
BUILD = Build(VERSION * 100, 1).key
CALL = """
SELECT version
FROM ledger.search(
    %s, %s, ARRAY[%s], '[]', %s, ARRAY['entry', 'summary', 'knowledge'], %s, NULL, NULL, true, 10
)
"""


@pytest.fixture(scope="module")
def database(server: Server, quiet_database: str) -> str:
    """A database in which two namespaces speak of a walnut, each with a word of its own."""

    async def fill() -> None:
        store = await PostgresStore.open(server.target(quiet_database))
        for name in ("ours", "theirs"):
            ledger = ledger_over(store, namespace=name)
            await ledger.add_user_message("session-1", f"the walnut is {name}")
            assert len(await ledger.search("walnut")) == 1
        await store.close()

    asyncio.run(fill())
    return quiet_database


@pytest.fixture
def login(server: Server, database: str, app_login: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(server.url_of(app_login, database)) as connection:
        yield connection
        connection.rollback()


def found(
    connection: psycopg.Connection[tuple[object, ...]], namespace: Stream, query: str, session: Stream | None = None
) -> int:
    values = (namespace.namespace_id, BUILD, query, RANKING, session.stream_id if session else None)
    return len(connection.execute(CALL, values).fetchall())


def test_only_the_given_namespace_is_searched(login: psycopg.Connection[tuple[object, ...]]) -> None:
    assert found(login, OURS, "walnut") == 1
    assert found(login, OURS, "their") == 0
    assert found(login, OURS, "walnut", session=THEIRS) == 0, "nor by the id of their session"
    assert found(login, THEIRS, "their") == 1, "the control: they have the word"
    assert found(login, Stream.of("nobody's", "s"), "walnut") == 0


def test_words_and_their_counts_are_behind_row_security(login: psycopg.Connection[tuple[object, ...]]) -> None:
    login.execute("SELECT set_config('ledger.namespace', %s, true)", (str(OURS.namespace_id),))
    assert login.execute("SELECT lexeme FROM ledger.search_terms WHERE lexeme = 'their'").fetchall() == []
    assert login.execute("SELECT lexeme FROM ledger.search_terms WHERE lexeme = 'our'").fetchall() == [("our",)]


async def test_a_plain_login_searches(server: Server, database: str, app_login: str) -> None:
    store = await PostgresStore.open(Target(server.url_of(app_login, database)))
    assert len(await ledger_over(store, namespace="ours").search("walnut")) == 1
    await store.close()


def test_nobody_else_may_call_it(server: Server, database: str) -> None:
    with (
        server.login() as login,
        psycopg.connect(server.url_of(login, database)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(CALL, (OURS.namespace_id, BUILD, "walnut", RANKING, None))


def test_the_index_of_words_is_used(server: Server, database: str) -> None:
    """Behind row security no GIN index would be; the control is the same question asked as the application.

    Source: trust D-7.
    """
    question = "EXPLAIN SELECT FROM ledger.search_entries WHERE shown AND vector @@ 'walnut'::tsquery"
    with server.superuser(database) as mighty:
        mighty.execute("SET enable_seqscan = off")
        mighty.execute("SET ROLE ledger_owner")
        owner = "\n".join(str(row[0]) for row in mighty.execute(question).fetchall())
        mighty.execute("SET ROLE ledger_app")
        application = "\n".join(str(row[0]) for row in mighty.execute(question).fetchall())
    assert "search_entries_vector" in owner
    assert "search_entries_vector" not in application


def test_the_migration_does_without_pgvector(server_15: Server) -> None:
    """Debian's PostgreSQL 15 has none; search goes by words."""
    with server_15.fresh() as name, server_15.superuser(name) as mighty:
        row = mighty.execute("SELECT to_regclass('ledger.search_entries'), to_regclass('ledger.search_embeddings')")
        assert row.fetchone() == ("ledger.search_entries", None)
