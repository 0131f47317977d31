"""Every table has a bound, which the page for operators states, and no use of the ledger passes it."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from ledger.application.handle import NamespaceHandle
from ledger.application.services import open_services
from ledger.events.clock import SystemClock
from ledger.long_term_memory.search_queries import RecordSearch
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.settings import Settings
from ledger.stores.postgres import PostgresStore
from projections.working_memory import ServedView
from tests.postgres.conftest import opened
from tests.support.databases import Server
from tests.support.worker_scene import Scene, work

pytestmark = pytest.mark.postgres

PAGE = Path(__file__).parents[2] / "docs/operating.md"


class Bound(NamedTuple):
    """What the page says of a table, and the most rows that it may have, as SQL over the log and the other tables."""

    words: str
    most: str


def for_each_build(projection: str, of: str, by: str) -> str:
    """Return the sum of *by* over *of*, for each build of *projection*."""
    return (
        f"SELECT coalesce(sum({by}), 0) FROM {of} x JOIN projection_checkpoints c USING (namespace_id) "
        f"WHERE c.projection = '{projection}'"
    )


LOG = "SELECT count(*) FROM events"
EVENTS = "(SELECT namespace_id, stream_id, max(version) AS n FROM events GROUP BY 1, 2)"
BOUNDS = {
    "events": Bound("what you record; it is never deleted", LOG),
    "streams": Bound("one for each session, and for each user of long-term memory", f"SELECT count(*) FROM {EVENTS} e"),
    "namespaces": Bound("one for each namespace", "SELECT count(DISTINCT namespace_id) FROM events"),
    "api_tokens": Bound("one for each token that you added; it stays when it is revoked", "SELECT 0"),
    "alembic_version": Bound("one", "SELECT 1"),
    "append_requests": Bound(
        "one for each write with an idempotency key; a worker deletes those of more than 7 days, "
        "without a worker `memory-ledger db prune` does",
        LOG,
    ),
    "snapshots": Bound(
        "two for each 200 events of a session",
        f"SELECT sum(2 * ceil(n / 200.0)) FROM {EVENTS} e",
    ),
    "projection_checkpoints": Bound(
        "one for each build of each of the four indexes below", "SELECT 4 * count(*) FROM namespaces"
    ),
    "session_index": Bound("one for each session", for_each_build("session_index", "streams", "1")),
    "session_runs": Bound(
        "one for each session and run of an agent that wrote in it; its forks have none of these",
        for_each_build("session_index", "events", "1"),
    ),
    "jobs": Bound(
        "at most five for each session, one of each kind; none when the work is done or the session has ended",
        for_each_build("jobs", "streams", "5"),
    ),
    "search_entries": Bound(
        "one for each text, or for 50,000 characters of it",
        for_each_build("search", "events", "1 + octet_length(content) / 25000"),
    ),
    "search_terms": Bound(
        "one for each word in these texts, and one",
        "SELECT count(*) FROM (SELECT namespace_id, projection_version, unnest(tsvector_to_array(vector)) "
        "FROM search_entries UNION SELECT namespace_id, projection_version, '' FROM search_entries) w",
    ),
    "search_forks": Bound(
        "one for each fork and each of its ancestors",
        for_each_build(
            "search",
            "(WITH RECURSIVE f AS (SELECT namespace_id, stream_id, parent_id FROM streams WHERE parent_id IS NOT NULL "
            "UNION ALL SELECT f.namespace_id, f.stream_id, s.parent_id FROM f JOIN streams s "
            "ON s.namespace_id = f.namespace_id AND s.stream_id = f.parent_id AND s.parent_id IS NOT NULL) TABLE f)",
            "1",
        ),
    ),
    "search_fork_changes": Bound(
        "one for each event of a fork that takes away what it inherited",
        for_each_build(
            "search",
            "(SELECT namespace_id FROM events JOIN streams USING (namespace_id, stream_id) "
            "WHERE parent_id IS NOT NULL)",
            "1",
        ),
    ),
    "records": Bound(
        "one for each record, live or not",
        for_each_build("records", "(SELECT namespace_id FROM events WHERE type = 'record.created')", "1"),
    ),
    "record_accesses": Bound(
        "one for each record that was read", "SELECT count(*) FROM events WHERE type = 'record.created'"
    ),
    "search_embeddings": Bound(
        "one for each text and embedding model",
        "SELECT count(*) FROM (SELECT DISTINCT namespace_id, stream_id, version, kind, piece FROM search_entries) e",
    ),
    "record_embeddings": Bound(
        "one for each live record and embedding model", "SELECT count(*) FROM records WHERE live"
    ),
    "served_views": Bound(
        "one for each view of a session that left out messages; each further one deletes up to 100 of more than 7 days",
        "SELECT count(*) FROM served_views WHERE served_at >= now() - interval '7 days'",
    ),
}


@pytest.fixture
async def store(server: Server, fresh_database: str) -> AsyncIterator[PostgresStore]:
    async with opened(server.target(fresh_database)) as store:
        yield store


@pytest.fixture
def mighty(server: Server, fresh_database: str) -> Iterator[psycopg.Connection[Any]]:
    with server.superuser(fresh_database) as connection:
        connection.execute("SET search_path = ledger, public")
        yield connection


def tables(mighty: psycopg.Connection[Any]) -> set[str]:
    found = mighty.execute("""
        SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('r', 'p')
    """)
    return {str(name) for (name,) in found}


def rows(mighty: psycopg.Connection[Any]) -> dict[str, int]:
    return {name: number(mighty, f"SELECT count(*) FROM {name}") for name in sorted(tables(mighty))}


def number(mighty: psycopg.Connection[Any], query: str) -> int:
    row = mighty.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def passed(mighty: psycopg.Connection[Any]) -> dict[str, tuple[int, int]]:
    """Return the tables with more rows than their bound, with both numbers."""
    found = {name: (count, number(mighty, BOUNDS[name].most)) for name, count in rows(mighty).items()}
    return {name: (count, most) for name, (count, most) in found.items() if count > most}


async def use(store: Store) -> None:
    """Write, change, read, index and clear; half of the requests have a key. No worker has a model."""
    scene = Scene(store, "n")
    async with open_services(Settings(), store=store) as services:
        ledger = MemoryLedger(NamespaceHandle(services, "n"))
        for turn in range(3):
            session = f"s{turn % 2}"
            for at in range(70):
                key = {"idempotency_key": f"{turn}-{at}"} if at % 2 else {}
                await ledger.add_user_message(session, f"word{turn} word{at}", metadata={"run_id": f"r{turn}"}, **key)
            entries = await ledger.get_active_entries(session)
            await ledger.edit_entry(session, entries[0].entry_id, "another text")
            await ledger.remove_entry(session, entries[1].entry_id)
            await scene.say(f"I moved to Oslo {turn}")
            await scene.note(f"m{turn}", f"Lives in Oslo {turn}")
            await scene.say("a", "b")
            view = ServedView(turn + 1, 1, ((1, 1),))
            await store.served_views.save(scene.stream, view, now=SystemClock().now() - timedelta(days=9 - turn % 2))
            await read(store, ledger, scene)
        await ledger.fork("s0", "fork")
        await ledger.fork("fork", "fork of the fork")
        await ledger.remove_entry("fork", (await ledger.get_active_entries("fork"))[0].entry_id)
        await ledger.clear_session("s1", end=True)
        await read(store, ledger, scene)


async def read(store: Store, ledger: MemoryLedger, scene: Scene) -> None:
    """Read everything, do what work there is, and build every index anew: all that appends no event."""
    await work(store, "n")
    await ledger.list_sessions()
    await ledger.search("word1")
    for session in ("s0", "s1"):
        await ledger.get_stats(session)
    await scene.memory.search(RecordSearch(text="Oslo", limit=10))
    await ledger.rebuild_projections()


def test_each_table_has_a_bound_and_the_page_states_it(mighty: psycopg.Connection[Any]) -> None:
    assert tables(mighty) <= BOUNDS.keys()
    assert BOUNDS.keys() - tables(mighty) <= {"search_embeddings", "record_embeddings"}, "they need pgvector"
    section = PAGE.read_text().partition("\n## What grows, and what bounds it\n")[2].partition("\n## ")[0]
    stated = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))
    assert stated == {name: bound.words for name, bound in BOUNDS.items()}


#: A row too many of a table, which `passed` must find.
SURPLUS = {
    "session_index": "INSERT INTO session_index "
    "SELECT (jsonb_populate_record(i, '{\"projection_version\": 998}')).* FROM session_index i",
    "jobs": "DELETE FROM projection_checkpoints WHERE projection = 'jobs'",
    "search_terms": "INSERT INTO search_terms "
    "SELECT namespace_id, projection_version, 'lost', 0 FROM search_terms WHERE lexeme = ''",
    "served_views": "UPDATE served_views SET served_at = now() - interval '8 days'",
    "snapshots": "INSERT INTO snapshots SELECT (jsonb_populate_record(s, "
    "jsonb_build_object('projection_version', 900 + n))).* FROM snapshots s, generate_series(1, 9) n",
}


@pytest.mark.full
async def test_no_table_grows_beyond_its_bound(store: PostgresStore, mighty: psycopg.Connection[Any]) -> None:
    await use(store)
    now = SystemClock().now()
    await store.served_views.save(Scene(store, "n").stream, ServedView(99, 1, ((1, 1),)), now=now)
    before = rows(mighty)
    assert passed(mighty) == {}
    assert all(before[name] for name in BOUNDS.keys() - {"api_tokens", "search_embeddings", "record_embeddings"}), (
        before
    )
    async with open_services(Settings(), store=store) as services:
        for _ in range(2):
            await read(store, MemoryLedger(NamespaceHandle(services, "n")), Scene(store, "n"))
    assert rows(mighty) == before, "what appends no event adds no row"
    for table, sql in SURPLUS.items():  # negative control
        with mighty.transaction(force_rollback=True):
            mighty.execute(sql.encode())
            assert table in passed(mighty), table
