"""What runs with the owner's rights touches one namespace: the one it is given. Source: trust D-1, D-7, D-16, P-10."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ledger.events.ids import Stream
from ledger.indexes.search.index_builds import VERSION
from ledger.indexes.stored_projections.build_choice import Build
from ledger.stores.postgres import PostgresStore
from projections.words.ranking import DEFAULT_RANKING
from tests.postgres.test_row_security import remember
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.store_requests import a_request, a_write, an_event

pytestmark = pytest.mark.postgres

OURS, THEIRS = Stream.of("ours", "session-1"), Stream.of("theirs", "session-1")
#: The weights of a search.
RANKING: Final = Jsonb(DEFAULT_RANKING.model_dump())
#: The first build of the version of these tests, in the first language.
BUILD: Final = Build(VERSION * 100, 1).key
#: Function → a call with our namespace that asks for what is theirs, and what it may answer.
ACROSS: Final[dict[str, tuple[str, list[object]]]] = {
    "find_items": ("SELECT version FROM ledger.find_items(%(ours)s, %(stream)s, ARRAY['item'])", []),
    "prune_requests": ("SELECT ledger.prune_requests(%(ours)s, interval '24 hours')", [(0,)]),
    "search": (
        """
        SELECT version
        FROM ledger.search(
            %(ours)s, %(build)s, ARRAY['walnut'], '[]', %(ranking)s, ARRAY['entry'], %(stream)s, NULL, NULL, true, 10
        )
        """,
        [],
    ),
    "search_records": (
        """
        SELECT namespace_id
        FROM ledger.search_records(ARRAY[%(ours)s::uuid], ARRAY[1], ARRAY['word'], 32)
        """,
        [(OURS.namespace_id,)],
    ),
}
#: They have tests of their own: what an append refuses, the name of a namespace, ids without content, and tokens, which
#: belong to no namespace.
ELSEWHERE: Final = {"append", "append_stream", "create_namespace", "namespace_ids", "find_token"}
#: The same with their namespace finds it: the control.
OF_THEIRS: Final = {"find_items": 1, "search": 1, "search_records": 1}


@pytest.fixture(scope="module")
def database(server: Server, quiet_database: str) -> str:
    """A database in which both have an item, an entry, a request and a record."""

    async def fill() -> None:
        store = await PostgresStore.open(server.target(quiet_database))
        for stream, word in ((OURS, "pine"), (THEIRS, "walnut")):
            event = an_event(item_id="item" if stream is THEIRS else "another")
            await store.events.append(a_request(a_write(Stream.of(stream.namespace, "session-1"), event), key="k"))
            ledger = ledger_over(store, namespace=stream.namespace)
            await ledger.add_user_message("session-2", word)
            assert len(await ledger.search(word)) == 1
            await remember(store, stream)
        await store.close()

    asyncio.run(fill())
    return quiet_database


@pytest.fixture
def application(server: Server, database: str) -> Iterator[psycopg.Connection[Any]]:
    """The application's role in a transaction that is undone; it has set no namespace."""
    with server.superuser(database) as mighty, mighty.transaction(force_rollback=True):
        old = "UPDATE ledger.append_requests SET recorded_at = now() - interval '9 days' WHERE namespace_id = %s"
        mighty.execute(old, (THEIRS.namespace_id,))
        mighty.execute("SET LOCAL ROLE ledger_app")
        yield mighty


def call(application: psycopg.Connection[Any], function: str, *, of: Stream) -> list[Any]:
    session = Stream.of("theirs", "session-2" if function == "search" else "session-1")
    values = {"ours": of.namespace_id, "build": BUILD, "stream": session.stream_id, "ranking": RANKING}
    return application.execute(ACROSS[function][0], values).fetchall()


def their_rows(application: psycopg.Connection[Any]) -> list[Any]:
    application.execute("RESET ROLE")
    tables = ("namespaces", "streams", "events", "append_requests", "search_entries", "records")
    return [
        application.execute(
            f"SELECT t::text FROM ledger.{table} t WHERE namespace_id = %s ORDER BY 1", (THEIRS.namespace_id,)
        ).fetchall()
        for table in tables
    ]


@pytest.mark.parametrize("function", ACROSS)
def test_a_function_neither_reads_nor_writes_across_namespaces(
    function: str, application: psycopg.Connection[Any]
) -> None:
    before = their_rows(application)
    application.execute("SET LOCAL ROLE ledger_app")
    assert call(application, function, of=OURS) == ACROSS[function][1]
    assert their_rows(application) == before


@pytest.mark.parametrize("function", OF_THEIRS)
def test_the_same_call_with_their_namespace_finds_it(function: str, application: psycopg.Connection[Any]) -> None:
    """Negative control; there is no namespace set, so the functions make the setting themselves."""
    assert len(call(application, function, of=THEIRS)) == OF_THEIRS[function]


def test_a_function_without_its_filter_is_seen(application: psycopg.Connection[Any]) -> None:
    """Negative control: a search that forgets the namespace finds what is theirs."""
    application.execute("RESET ROLE")
    (body,) = application.execute("SELECT pg_get_functiondef('ledger.search'::regproc)").fetchone() or ("",)
    application.execute(body.replace("namespace_id = p_namespace_id", "namespace_id IS NOT NULL"))
    application.execute("SET LOCAL ROLE ledger_app")
    assert len(call(application, "search", of=OURS)) == 1


def test_every_function_with_the_rights_of_the_owner_is_tried(application: psycopg.Connection[Any]) -> None:
    found = application.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace AND prosecdef"
    ).fetchall()
    assert {str(name) for (name,) in found} == ACROSS.keys() | ELSEWHERE
