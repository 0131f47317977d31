"""Reads use their index and touch what they return, however long the stream: cost is bounded, not O(history).

Each query is planned as the store sends it, for its values and generically, as the application behind row
security. Source: style §1, §4; trust D-7 ("no plan changes").
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import psycopg
import pytest

from ledger.events.ids import Stream
from ledger.ports.snapshot_store import Snapshot
from ledger.stores.postgres import Target, job_queue
from ledger.stores.postgres.connections import _PLAN_ONCE
from ledger.stores.postgres.stream_reader import _QUERIES
from tests.postgres.conftest import opened
from tests.support.databases import Server
from tests.support.long_stream import BEGINNING, EVENTS, LONG, REQUEST, SHORT, STREAMS, fill
from tests.support.routable_sql import files
from tests.support.store_requests import a_request, a_write, an_event, append

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("query plans")]


class Read(NamedTuple):
    """A query with its values, and how many rows of which tables it may look at."""

    query: str
    values: dict[str, Any]
    rows: dict[str, int]


def reads(length: int) -> list[Read]:
    """Return every query of the store, on a stream of *length* events, near its end and in its middle."""
    end, middle = length - 10, length // 2
    now = BEGINNING + timedelta(seconds=end)
    ends = {"firsts": [1, middle, end], "lasts": [3, middle + 2, end + 2]}
    parts = {"firsts": [middle, end], "lasts": [middle + 2, 2**62]}
    items = [f"item {middle // 10 * 10}", f"item {end // 10 * 10}", "unknown"]
    page = {"after": [middle], "limit": 100, "records": str(STREAMS["long"].stream_id)}
    pages = {"after": [middle], "limit": 100, "most_bytes": 2**62}
    recorded = {"types": ["context.rendered", "config.changed"], "item_types": []}
    listed = {"types": ["note.made"], "actor": "filler"}
    kept = {"first": "item 1", "end": "item 2", "after": 0, "until": 2**62}
    noted = {"types": [], "item_types": ["note.made"]}
    session, snapshot = {"projection": "session", "projection_version": 1}, {"snapshots": 1, "streams": 1}
    saved = {**dict.fromkeys(("code_digest", "head_hash", "mac"), bytes(32)), "state": b"state"}
    return [
        Read("read_stream", {"after": end, "until": 2**62, "limit": 2**62}, {"events": 10}),
        Read("read_stream", {"after": middle, "until": middle + 100, "limit": 5_000}, {"events": 100}),
        Read("read_stream", {"after": 0, "until": 2**62, "limit": 50}, {"events": 50}),
        Read("read_stream", {"after": length - 200, "until": 2**62, "limit": 2**62}, {"events": 200}),
        Read("read_versions", ends, {"events": 9}),
        Read("read_newest", {"until": 2**62, "limit": 30, "without": []}, {"events": 31, "streams": 1}),
        Read("read_newest", {"until": middle, "limit": 3, "without": ["x"]}, {"events": 4, "streams": 1}),
        Read("read_namespace", {"after": middle, "limit": 100, "most_bytes": 2**62}, {"events": 100}),
        Read("read_namespace", {"after": middle, "limit": 100, "most_bytes": 10}, {"events": 100}),
        Read("read_stream_page", {"after": middle, "until": end, "limit": 100, "most_bytes": 10}, {"events": 100}),
        Read("read_parts", {**parts, "each": 2**62, "limit": 2**62}, {"events": 14}),
        Read("read_parts", {**parts, "each": 5, "limit": 5}, {"events": 10}),
        Read("lineage", {}, {"streams": 1}),
        Read("find_items", {"items": items}, {"events": 3, "streams": 1}),
        Read("token_events", {"token": items[0]}, {"events": 4}),
        Read("find_types", {**recorded, "after": middle, "until": 2**62, "limit": 5}, {"events": 5, "streams": 1}),
        Read("find_types", {**noted, "after": middle, "until": end, "limit": 3}, {"events": 4, "streams": 1}),
        Read("find_versions", {**listed, "after": middle, "until": middle + 100}, {"events": 100, "streams": 1}),
        Read("family", {"limit": 9}, {"streams": 1}),
        Read("find_newest", {"type": "context.rendered", "until": middle}, {"events": 1}),
        Read("read_kept", {**kept, "limit": 1}, {"events": 3, "streams": 1}),
        Read("read_kept_greatest", {**kept, "limit": 3}, {"events": 4, "streams": 1}),
        Read("read_kept_every", {**kept, "limit": 5}, {"events": 5, "streams": 1}),
        Read("read_namespaces", pages, {"events": 100, "streams": 100}),
        Read("first_records", {"records": page["records"]}, {"events": 1, "streams": 1}),
        Read("record_events", page, {"events": 100, "streams": 100}),
        Read("head", {}, {"streams": 1}),
        Read("named", {}, {"streams": 2}),
        Read("first_events", {}, {"events": 2}),
        Read("find_request", {"request": REQUEST}, {"append_requests": 1, "events": 3}),
        Read("version_at", {"moment": now, "until": 2**62}, {"events": 11}),
        Read("load_snapshot", {**session, "at_most": 2**62, "before": 32, "limit": 20}, {**snapshot, "events": 21}),
        Read(
            "load_snapshot", {**session, "at_most": middle, "before": 32, "limit": 5_000}, {**snapshot, "events": 300}
        ),
        Read("save_snapshot", {**session, **saved, "version": middle, "since": middle - 20}, {"snapshots": 3}),
    ]


READS = reads(LONG)
IDS = [f"{number}-{read.query}" for number, read in enumerate(READS)]


@pytest.fixture(scope="module")
def database(server: Server, quiet_database: str) -> str:
    """A database with a long stream."""
    with server.superuser(quiet_database) as mighty:
        fill(mighty)
    return quiet_database


@pytest.fixture(params=["force_custom_plan", "force_generic_plan"])
def application(
    request: pytest.FixtureRequest, server: Server, database: str, app_login: str
) -> Iterator[psycopg.Connection[Any]]:
    """The application's connection, planning for the values it is given, or for any."""
    with psycopg.connect(server.url_of(app_login, database), autocommit=True, prepare_threshold=None) as connection:
        connection.execute(f"SET plan_cache_mode = {request.param}")
        yield connection


def plan(connection: psycopg.Connection[Any], sql: str, values: dict[str, Any]) -> dict[str, Any]:
    """Prepare *sql*, run it, and return its plan with what happened."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", sql)
    connection.execute("DEALLOCATE ALL")
    connection.execute(f"PREPARE query AS {numbered}")
    slots = ", ".join(["%s"] * len(names))
    cursor = psycopg.ClientCursor(connection)
    cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE query ({slots})", [values[name] for name in names])
    ((explained,),) = cursor.fetchall()
    found: dict[str, Any] = explained[0]["Plan"]
    return found


def nodes(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a plan's nodes, without those that PostgreSQL 15 shows though their condition is constantly false."""
    yield found
    if found.get("One-Time Filter") == "false":
        return
    for inner in found.get("Plans", ()):
        yield from nodes(inner)


def looked_at(found: dict[str, Any]) -> dict[str, int]:
    """Return how many rows of each table a plan fetched, those it threw away included."""
    rows: dict[str, int] = {}
    for node in nodes(found):
        if name := node.get("Relation Name"):
            fetched = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            rows[name] = rows.get(name, 0) + round(fetched)
    return rows


def scanned(found: dict[str, Any]) -> set[str]:
    """Return the tables a plan reads from end to end."""
    return {node["Relation Name"] for node in nodes(found) if node["Node Type"] == "Seq Scan"}


def values_of(read: Read, stream: str) -> dict[str, Any]:
    names: dict[str, Any] = {"namespace": STREAMS[stream].namespace_id, "stream": STREAMS[stream].stream_id}
    names["streams"] = [STREAMS[stream].stream_id] * 2
    names["namespaces"] = [STREAMS[stream].namespace_id]
    return {**names, **read.values}


def test_every_query_of_the_store_is_planned_here() -> None:
    assert {read.query for read in READS} == set(_QUERIES) - {"bounds"}  # which counts a whole namespace


@pytest.mark.parametrize("read", READS, ids=IDS)
def test_a_read_looks_at_what_it_returns(read: Read, application: psycopg.Connection[Any]) -> None:
    found = plan(application, _QUERIES[read.query], values_of(read, "long"))
    assert found["Actual Rows"] > 0
    assert scanned(found) == set()
    for table, rows in looked_at(found).items():
        assert rows <= read.rows[table], found


@pytest.mark.parametrize("number", range(len(READS)), ids=IDS)
def test_a_read_of_a_long_stream_costs_no_more_than_of_a_short_one(
    number: int, application: psycopg.Connection[Any]
) -> None:
    pages = {}
    for stream, length in (("short", SHORT), ("long", LONG)):
        read = reads(length)[number]
        for _ in ("reads catalogues too", "reads what it asks for"):
            found = plan(application, _QUERIES[read.query], values_of(read, stream))
        pages[stream] = found["Shared Hit Blocks"] + found["Shared Read Blocks"]
    assert pages["long"] <= 2 * pages["short"] + 20, pages


def test_a_query_without_its_index_is_seen(application: psycopg.Connection[Any]) -> None:
    """Negative control."""
    for way in ("indexscan", "indexonlyscan", "bitmapscan"):
        application.execute(f"SET enable_{way} = off")
    found = plan(application, _QUERIES["read_stream"], values_of(READS[0], "long"))
    assert "events" in scanned(found)
    assert looked_at(found)["events"] > LONG


#: How a query would be written at first → how it was found to read the whole stream.
NAIVE = {
    "read_versions": """
        SELECT e.version FROM unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) AS r (first, last)
        JOIN ledger.events e ON e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s
            AND e.version BETWEEN r.first AND r.last
        WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    """,
    "find_items": """
        SELECT e.item_id FROM ledger.events e
        WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
            AND e.namespace_id = %(namespace)s AND uuid_hash(e.stream_id) = uuid_hash(%(stream)s)
            AND e.stream_id = %(stream)s AND hashtext(e.item_id) = hashtext((%(items)s::text[])[1])
            AND e.item_id = (%(items)s::text[])[1]
    """,
}


@pytest.mark.parametrize("query", NAIVE)
@pytest.mark.parametrize("application", ["force_generic_plan"], indirect=True)
def test_the_shapes_of_the_queries_are_not_for_looks(query: str, application: psycopg.Connection[Any]) -> None:
    """Negative control: written as one would at first, the same question looks at far more."""
    read = next(read for read in READS if read.query == query)
    rows = looked_at(plan(application, NAIVE[query], values_of(read, "long")))
    assert any(rows[table] > 10 * bound for table, bound in read.rows.items())


def test_a_query_is_planned_alike_before_anything_is_stored(
    server: Server, database: str, fresh_database: str, app_login: str
) -> None:
    """A connection that reads plans each query once, and perhaps while the tables are empty."""

    def indexes(name: str) -> list[set[str]]:
        with psycopg.connect(server.url_of(app_login, name), autocommit=True, prepare_threshold=None) as connection:
            connection.execute(_PLAN_ONCE)
            plans = [plan(connection, _QUERIES[read.query], values_of(read, "long")) for read in READS]
        assert [scanned(found) for found in plans] == [set()] * len(plans)
        return [{node["Index Name"] for node in nodes(found) if "Index Name" in node} for found in plans]

    assert indexes(fresh_database) == indexes(database)


def plan_on_an_empty_table(connection: psycopg.Connection[Any], body: str) -> str:
    """Return the generic plan of the inner query that looks items up in the *body* of a function."""
    found = re.search(r"SELECT e\.namespace_id, e\.stream_id.*?(?=OFFSET 0)", body, re.DOTALL)
    assert found is not None
    query = re.sub(r"\b(p_item_id|(?:wanted|i)\.item_id)\b", "$2", re.sub(r"\b[pv]_stream_id\b", "$1", found[0]))
    connection.execute("SET ROLE ledger_owner; SET search_path = ledger; SET enable_seqscan = off")
    connection.execute("SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL")
    connection.execute(f"PREPARE query (uuid, text) AS {query} OFFSET 0".encode())
    return "\n".join(str(row[0]) for row in connection.execute("EXPLAIN EXECUTE query (NULL, NULL)").fetchall())


@pytest.mark.parametrize("file", [name for name, sql in files().items() if "uuid_hash(e." in sql])
def test_items_are_found_by_their_index_whatever_the_planner_knows(
    file: str, server: Server, fresh_database: str
) -> None:
    """A connection keeps the plans of functions, and may have made them when the table was empty."""
    with server.superuser(fresh_database) as mighty:
        assert "hashtext" in index_conditions(plan_on_an_empty_table(mighty, files()[file]))
        mighty.execute("RESET ROLE; DROP INDEX ledger.events_item_id")
        assert "hashtext" not in index_conditions(plan_on_an_empty_table(mighty, files()[file])), "the control"


def index_conditions(explained: str) -> str:
    return "\n".join(line for line in explained.splitlines() if "Index Cond" in line)


async def test_nothing_the_store_does_scans_the_log(server: Server, database: str, app_login: str) -> None:
    """What is not in a query file: appending, retries, and the index behind listings."""

    def scans() -> dict[str, int]:
        server.await_ended(database)
        with server.superuser(database) as mighty:
            rows = mighty.execute("SELECT relname, seq_scan FROM pg_stat_user_tables WHERE schemaname = 'ledger'")
            return {str(name): int(str(count)) for name, count in rows.fetchall() if name == "events"}

    before = scans()
    stream = STREAMS["long"]
    async with opened(Target(server.url_of(app_login, database))) as store:
        request = a_request(a_write(Stream.of("plans", "new"), an_event(item_id="x")), key="k")
        await append(store, Stream.of("plans", "new"), an_event(), expected=0)
        await store.events.append(request)
        await store.events.append(request)
        await store.events.append_all([a_request(a_write(Stream.of("plans", "new"), an_event()))])
        await store.snapshots.save(stream, Snapshot("session", 1, 5, bytes(32), bytes(32), b"state"))
        await store.projections.begin_build(stream.namespace_id, "session_index", 1, bytes(32))
        ids = [stream.stream_id, Stream.of("plans", "new").stream_id]
        await store.snapshots.newest(stream.namespace_id, ids, "session", 1)
        assert await store.projections.read_ranges(stream.namespace_id, [(each, 1, 5) for each in ids], each=9) != []
        await store.session_index.save(stream.namespace_id, 1, [], after=0, position=EVENTS)
        await store.session_index.rows([(stream.namespace_id, 1, each) for each in ids])
        await store.session_index.page(stream.namespace_id, 1)
        await store.events.overview(stream.namespace_id)
        await store.events.prune_requests(stream.namespace_id, days=7)
    assert scans() == before


def test_jobs_that_no_worker_takes_are_not_read_to_find_others(server: Server, fresh_database: str) -> None:
    """Without a model, one for each session waits to extract memories."""
    namespace_id = STREAMS["long"].namespace_id
    values = {"namespace_id": namespace_id, "build": 10, "kinds": ["promote"], "by": "w", "lease_s": 60, "most": 4}
    with server.superuser(fresh_database) as mighty:
        for kind, count in (("extract", 2_000), ("promote", 2)):
            mighty.execute(
                "INSERT INTO ledger.jobs (namespace_id, projection_version, stream_id, due_at, kind, work, user_id,"
                " session_id) SELECT %s, 10, gen_random_uuid(), now(), %s, '', '', '' FROM generate_series(1, %s)",
                (namespace_id, kind, count),
            )
        mighty.execute("ANALYZE ledger.jobs")
        sql = re.sub(r"(?<!:):(\w+)", r"%(\1)s", job_queue._QUERIES["claim"])
        row = mighty.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", {**values, "most_attempts": 12}).fetchone()
    assert row is not None
    assert looked_at(row[0][0]["Plan"])["jobs"] <= 6, "two to find, two to join, two to change"
