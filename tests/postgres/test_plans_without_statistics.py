"""Reads of listings and of long-term memory use the same indexes whether a table was analyzed or has just been filled.

Which indexes a statement uses is read from the server's counters, so statements within functions are seen, too.
"""

import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple
from uuid import uuid5

import psutil
import pytest

from ledger.events.clock import SystemClock
from ledger.events.ids import namespace_id
from ledger.ports import Store
from ledger.ports.record_store import RecordLookup, RecordQuery
from ledger.ports.session_index import LifeFilter, SessionFilter
from ledger.stores.postgres import Target, record_reader
from tests.postgres.conftest import opened
from tests.support.databases import Server

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("plans without statistics")]

LARGE, SMALL = namespace_id("large"), [namespace_id(f"small {number}") for number in range(40)]
RECORDS, OTHERS, STREAMS, BUILD = 6_000, 25, 10, 201
NOW = SystemClock().now()
TABLES = ("records", "record_accesses", "session_index", "session_runs")

_FILL = (
    "SET session_replication_role = replica",
    *(f"ALTER TABLE ledger.{table} SET (autovacuum_enabled = false)" for table in TABLES),
    """
    INSERT INTO ledger.records
    SELECT
        n.id, %(build)s, md5(n.id::text || mod(g, %(streams)s))::uuid, now() - g * interval '1 minute', now(), NULL,
        true, 'r' || g, 'u' || mod(g, %(streams)s), NULL, 'semantic', 'discrete', '{}', '{}',
        sha256(g::text::bytea), sha256(g::text::bytea), %(record)s,
        to_tsvector('simple', 'user likes tea and item' || g) || array_to_tsvector(ARRAY[n.id::text])
    FROM unnest(%(namespaces)s::uuid[], %(counts)s::integer[]) AS n (id, records), generate_series(1, n.records) AS g
    """,
    """
    INSERT INTO ledger.record_accesses
    SELECT r.namespace_id, r.stream_id, r.record_id, now(), 1 FROM ledger.records r
    """,
    """
    INSERT INTO ledger.session_index (
        namespace_id, projection_version, stream_id, version, created_at, updated_at, entries, active, summaries,
        total_tokens, active_tokens, failed_compactions, status, user_id, session_id
    )
    SELECT
        n.id, %(build)s, md5(n.id::text || g)::uuid, 1, now(), now() - g * interval '1 minute', 1, 1, 0, 1, 1, 0,
        'live', 'u' || mod(g, %(streams)s), 's' || g
    FROM unnest(%(namespaces)s::uuid[], %(counts)s::integer[]) AS n (id, records), generate_series(1, n.records) AS g
    """,
    """
    INSERT INTO ledger.session_runs (namespace_id, projection_version, stream_id, version, run_id)
    SELECT i.namespace_id, i.projection_version, i.stream_id, 1, 'r' || substr(i.session_id, 2)::integer / 5
    FROM ledger.session_index i
    """,
    """
    INSERT INTO ledger.streams (namespace_id, stream_id, version, user_id, session_id, parent_id, parent_version)
    SELECT
        i.namespace_id, i.stream_id, 1, i.user_id, i.session_id,
        CASE WHEN i.session_id ~ '7$' THEN md5(i.namespace_id::text || 1)::uuid END,
        CASE WHEN i.session_id ~ '7$' THEN 1 END
    FROM ledger.session_index i
    """,
)


class Read(NamedTuple):
    """What is read, the indexes that it may use, and how many rows it may look at there."""

    ask: Callable[[Store], Awaitable[Any]]
    indexes: set[str]
    rows: int


def a_search(text: str | None, *namespaces: Any, **more: Any) -> Callable[[Store], Awaitable[Any]]:
    builds = dict.fromkeys(namespaces or [LARGE], BUILD)
    return lambda store: store.records.search(builds, RecordQuery(text=text, now=NOW, **more))


OF_ONE, ACCESSES = {"records_id", "records_pkey"}, {"record_accesses_pkey"}
OF_ALL = {"records_created_at", "records_identity", *OF_ONE}
WORDS = {"records_vector", *OF_ALL, *ACCESSES}
#: A page of sessions says where each was forked.
ORIGINS = {"streams_pkey"}
LISTED = {"session_index_updated_at", *ORIGINS}
OF_RUN = {"session_runs_run_id", "session_index_pkey", "streams_parent_id", *ORIGINS}
TOTAL = RECORDS + OTHERS * len(SMALL)
READS = {
    "a rare word": Read(a_search("item77"), WORDS, RECORDS + 50),
    "a common word": Read(a_search("tea"), WORDS, 4 * RECORDS),
    "a common word in a small namespace": Read(a_search("tea", SMALL[0]), WORDS, 8 * OTHERS),
    "a word in all namespaces": Read(a_search("item7", LARGE, *SMALL), WORDS, TOTAL + 8 * len(SMALL)),
    "newest first": Read(a_search(None), OF_ALL | ACCESSES, RECORDS + 50),
    "newest first in a small namespace": Read(a_search(None, SMALL[0]), OF_ALL | ACCESSES, OTHERS + 50),
    "by id": Read(
        lambda store: store.records.find({LARGE: BUILD}, RecordLookup(record_ids=("r5", "r6"))), OF_ONE | ACCESSES, 20
    ),
    "duplicates": Read(lambda store: store.records.duplicates({LARGE: BUILD}), OF_ALL, RECORDS),
    "sessions": Read(lambda store: store.session_index.page(LARGE, BUILD, limit=20), LISTED, 60),
    "sessions of a user": Read(
        lambda store: store.session_index.page(LARGE, BUILD, wanted=SessionFilter(user_id="u3"), limit=20),
        LISTED,
        30 * STREAMS,
    ),
    "sessions by how their ids begin": Read(
        lambda store: store.session_index.page(LARGE, BUILD, wanted=SessionFilter(id_prefix="s12"), limit=20),
        {"session_index_session_id", *ORIGINS},
        111 + 40,
    ),
    "sessions by how their users' ids begin": Read(
        lambda store: store.session_index.page(LARGE, BUILD, wanted=SessionFilter(user_prefix="u3"), limit=20),
        {"session_index_user_id", *ORIGINS},
        RECORDS // STREAMS + 40,
    ),
    "sessions of a user by how their ids begin": Read(
        lambda store: store.session_index.page(
            LARGE, BUILD, wanted=SessionFilter(user_id="u3", id_prefix="s12"), limit=20
        ),
        {"session_index_session_id", *ORIGINS},
        111 + 40,
    ),
    "live sessions by a prefix, after a page": Read(
        lambda store: store.session_index.page(
            LARGE,
            BUILD,
            wanted=SessionFilter(id_prefix="s12", life=LifeFilter("live", NOW)),
            after=(NOW, LARGE),
            limit=20,
        ),
        {"session_index_session_id", *ORIGINS},
        111 + 40,
    ),
    "sessions of a run": Read(
        lambda store: store.session_index.page(LARGE, BUILD, wanted=SessionFilter(run_id="r500"), limit=20),
        OF_RUN,
        50,
    ),
    "sessions of a run that a parent of forks is of": Read(
        lambda store: store.session_index.page(LARGE, BUILD, wanted=SessionFilter(run_id="r0"), limit=20),
        OF_RUN,
        2 * RECORDS // 10 + 100,
    ),
    "runs of sessions": Read(
        lambda store: store.session_index.runs([(LARGE, BUILD, uuid5(LARGE, str(at))) for at in range(50)]),
        {"session_runs_pkey"},
        0,
    ),
    "sessions of all namespaces": Read(
        lambda store: store.session_index.page_of_live(
            dict.fromkeys([LARGE, *SMALL], BUILD), user_id=None, moment=NOW, limit=20
        ),
        {"session_index_updated_at", "session_index_pkey"},
        TOTAL + 50,
    ),
    "sessions of a small namespace": Read(
        lambda store: store.session_index.page_of_live({SMALL[0]: BUILD}, user_id=None, moment=NOW, limit=20),
        {"session_index_updated_at", "session_index_pkey"},
        OTHERS + 50,
    ),
}


@pytest.fixture(scope="module")
def filled(server: Server) -> Iterator[str]:
    """A database whose tables were filled and never analyzed."""
    with server.fresh() as name:
        values = {
            "build": BUILD,
            "streams": STREAMS,
            "record": b"{}",
            "namespaces": [LARGE, *SMALL],
            "counts": [RECORDS, *[OTHERS] * len(SMALL)],
        }
        with server.superuser(name) as mighty:
            for statement in _FILL:
                mighty.execute(statement, values if "%(" in statement else None)  # type: ignore[call-overload]
        yield name


def used(server: Server, name: str) -> dict[str, tuple[int, int]]:
    """Return how often each index was used and how many of its rows were read, and of each table without one."""
    server.await_ended(name)
    with server.superuser(name) as mighty:
        indexes = mighty.execute("""
            SELECT indexrelname, idx_scan, idx_tup_read FROM pg_stat_user_indexes
            WHERE relname IN ('records', 'record_accesses', 'session_index', 'session_runs', 'streams')
            UNION ALL
            SELECT relname || ' from end to end', seq_scan, seq_tup_read FROM pg_stat_user_tables
            WHERE relname IN ('records', 'record_accesses', 'session_index', 'session_runs', 'streams')
        """)
        return {str(each): (int(str(scans)), int(str(rows))) for each, scans, rows in indexes.fetchall()}


async def reading(server: Server, name: str, ask: Callable[[Store], Awaitable[Any]]) -> dict[str, int]:
    """Return the rows that are looked at in each index."""
    before = used(server, name)
    async with opened(Target(server.target(name).url, embedded=True)) as store:
        await ask(store)
    after = used(server, name)
    return {each: rows - before[each][1] for each, (scans, rows) in after.items() if scans > before[each][0]}


@pytest.fixture
def _rows_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of this database have no JSON."""
    monkeypatch.setattr(record_reader, "_stored", lambda row: row.record)


#: A search as one would write it at first.
NAIVE = """
SELECT r.record_id, w.weight FROM ledger.records r
JOIN (SELECT x.stream_id, x.record_id, 1 AS weight FROM ledger.records x WHERE x.vector @@ 'tea'::tsquery) AS w
    ON w.stream_id = r.stream_id AND w.record_id = r.record_id
LEFT JOIN ledger.record_accesses a ON a.namespace_id = r.namespace_id AND a.stream_id = r.stream_id
    AND a.record_id = r.record_id
WHERE r.namespace_id = %(namespace)s AND r.projection_version = %(build)s AND r.live
"""


@pytest.mark.full
@pytest.mark.usefixtures("_rows_are_empty")
async def test_statistics_change_no_plan(server: Server, filled: str) -> None:
    found: list[dict[str, dict[str, int]]] = []
    naive: list[str] = []
    for statement in ("SELECT 1", "ANALYZE"):
        with server.superuser(filled) as mighty:
            mighty.execute(statement.encode())
            plan = mighty.execute(f"EXPLAIN (COSTS OFF) {NAIVE}".encode(), {"namespace": LARGE, "build": BUILD})
            naive.append(str(plan.fetchall()))
        found.append({name: await reading(server, filled, read.ask) for name, read in READS.items()})
    assert naive[0] != naive[1], "the control: they change the plan of a query that leaves it open"
    for name, read in READS.items():
        for state in found:
            assert set(state[name]) <= read.indexes, (name, state[name])
            assert sum(state[name].values()) <= read.rows, (name, state[name])


async def test_what_a_connection_did_is_counted_although_it_ends_late(server: Server, filled: str) -> None:
    """As on a machine with other work, where its process goes on after its client left."""
    read = READS["sessions"]
    late: list[threading.Timer] = []

    async def ask(store: Store) -> None:
        await read.ask(store)
        with server.superuser(filled) as mighty:
            others = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
            for (process,) in mighty.execute(others, (filled,)).fetchall():
                psutil.Process(int(str(process))).suspend()
                late.append(threading.Timer(0.5, psutil.Process(int(str(process))).resume))
        for timer in late:
            timer.start()

    assert sum((await reading(server, filled, ask)).values()) > 0
    assert late


async def test_a_prefix_without_its_index_is_seen(server: Server, filled: str) -> None:
    """Negative control."""
    read = READS["sessions by how their ids begin"]
    with server.superuser(filled) as mighty:
        ((index,),) = mighty.execute("SELECT pg_get_indexdef('ledger.session_index_session_id'::regclass)").fetchall()
        mighty.execute("DROP INDEX ledger.session_index_session_id")
    try:
        rows = await reading(server, filled, read.ask)
    finally:
        with server.superuser(filled) as mighty:
            mighty.execute(str(index).encode())
    assert sum(rows.values()) >= RECORDS
