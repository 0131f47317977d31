"""An HNSW index finds what the exact search finds, and is used only where it can."""

import random
from collections.abc import AsyncIterator, Iterator

import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.ports.search_index import PieceHit, SearchQuery
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.vector_indexes import IndexedVectors, index_vectors
from tests.postgres.conftest import opened
from tests.support.databases import Server

pytestmark = pytest.mark.postgres

LARGE, SMALL, BUILD, COUNT, WIDTH = namespace_id("large"), namespace_id("small"), 201, 3_000, 16
_FILL = (
    "SET session_replication_role = replica",
    """
    INSERT INTO ledger.search_entries (
        namespace_id, projection_version, stream_id, version, kind, piece, added_in, "position", first_character,
        characters, words, language, user_id, session_id, item_id, vector, removed_in, shown
    )
    SELECT
        n.id, %(build)s, md5(mod(g, 10)::text)::uuid, g, 'entry', 0, g, g, 0, 5, 1, 'english', 'u' || mod(g, 2),
        's' || mod(g, 10), g::text, 'word'::tsvector, CASE WHEN mod(g, 7) = 0 THEN g + 1 END, mod(g, 7) <> 0
    FROM unnest(%(namespaces)s::uuid[], %(counts)s::integer[]) AS n (id, pieces), generate_series(1, n.pieces) AS g
    """,
    """
    INSERT INTO ledger.search_embeddings
    SELECT e.namespace_id, m.model, e.stream_id, e.version, e.kind, e.piece, e.added_in, (
        SELECT array_agg(sin(e.version * k * 12.9898 + k * k) + cos(e.version * 7.7 * k * k))
        FROM generate_series(1, m.width) AS k
    )::public.vector
    FROM ledger.search_entries e, (VALUES ('model', 16), ('wider', 24)) AS m (model, width)
    WHERE m.model = 'model' OR e.version <= 100
    """,
    "ANALYZE ledger.search_entries, ledger.search_embeddings",
)
_SCANS = (
    "SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes WHERE indexrelname LIKE 'search_embeddings_hnsw_%'"
)


@pytest.fixture(scope="module")
def filled(server: Server) -> Iterator[str]:
    """A database with a large and a small namespace; every seventh piece is removed, but still has a vector."""
    with server.fresh() as name:
        with server.superuser(name) as mighty:
            if mighty.execute("SELECT to_regclass('ledger.search_embeddings')").fetchone() == (None,):
                pytest.skip("this server has no pgvector")
            for statement in _FILL:
                values = {"build": BUILD, "namespaces": [LARGE, SMALL], "counts": [COUNT, 200]}
                mighty.execute(statement, values if "%(" in statement else None)  # type: ignore[call-overload]
        yield name


@pytest.fixture
async def store(server: Server, filled: str) -> AsyncIterator[PostgresStore]:
    async with opened(server.target(filled)) as store:
        yield store


def indexed(server: Server, database: str, least: int = 1_000) -> IndexedVectors:
    with server.superuser(database) as mighty:
        mighty.execute("SELECT pg_stat_force_next_flush()")
    return index_vectors(server.database(database), least=least)


def scans(server: Server, database: str) -> int:
    server.await_ended(database)
    with server.superuser(database) as mighty:
        row = mighty.execute(_SCANS).fetchone()
    assert row is not None
    return int(row[0])


async def similar(store: PostgresStore, vector: list[float], limit: int = 10, **scope: object) -> list[PieceHit]:
    query = SearchQuery(text="", limit=limit, **scope)  # type: ignore[arg-type]
    return await store.search.find_similar(scope.pop("namespace", LARGE), BUILD, query, "model", vector)  # type: ignore[arg-type]


async def test_the_index_finds_nearly_all_that_the_exact_search_finds(
    server: Server, filled: str, store: PostgresStore
) -> None:
    dice = random.Random(4)
    vectors = [[dice.uniform(-1, 1) for _ in range(WIDTH)] for _ in range(20)]
    exact = [await similar(store, vector) for vector in vectors]
    done = indexed(server, filled)
    assert [(each.namespace_id, each.model, each.dimensions) for each in done.created] == [(LARGE, "model", WIDTH)]
    assert indexed(server, filled) == IndexedVectors([], done.created, 0), "once"
    async with opened(server.target(filled)) as later:
        found = [await similar(later, vector) for vector in vectors]
        shared = sum(len({hit.key for hit in a} & {hit.key for hit in b}) for a, b in zip(exact, found, strict=True))
        assert [len(hits) for hits in found] == [10] * 20
        assert shared >= 0.97 * 200
        assert not any(hit.version % 7 == 0 for hits in found for hit in hits), "removed pieces are not found"
        for scope in ({"stream": Stream.of("large", "s1", "u1")}, {"user_id": "u1"}):
            assert await similar(later, vectors[0], **scope) == await similar(store, vectors[0], **scope)
        assert await similar(later, vectors[0], limit=1_000) == await similar(store, vectors[0], limit=1_000)
        assert [hit.score for hit in found[0]] == sorted((hit.score for hit in found[0]), reverse=True)
    await store.close()
    assert scans(server, filled) >= 20


async def test_an_index_that_is_not_needed_is_dropped_and_writes_go_on(
    server: Server, filled: str, store: PostgresStore
) -> None:
    indexed(server, filled)
    (hit, *_) = await similar(store, [1.0] * WIDTH)
    await store.search.save_embeddings(LARGE, "model", [(hit, [1.0] * 3)])  # the model has another dimension now
    await store.search.save_embeddings(LARGE, "model", [(hit, [1.0] * WIDTH)])
    done = indexed(server, filled, least=1_000_000)
    assert (done.created, done.existing, done.dropped) == ([], [], 1)
    assert (await similar(store, [1.0] * WIDTH))[0].key == hit.key
