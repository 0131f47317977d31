"""One namespace never sees another, even if our code forgets the filter. Source: trust P-10, D-7, D-8, S-5."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import psycopg
import pytest

from ledger.events import MemoryFields
from ledger.events.ids import Stream, namespace_id
from ledger.ports.job_queue import JOBS, DueJob, SessionJobs
from ledger.ports.record_store import RECORDS_PROJECTION
from ledger.ports.search_index import SEARCH, StreamChange
from ledger.ports.snapshot_store import Snapshot
from ledger.stores.postgres import PostgresStore, Target
from projections.records.records import Record
from projections.words.searchable_text import AddPieces, Inherit, Piece, Withdraw
from projections.working_memory import ServedView
from tests.conformance.test_caches import a_row
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, fork, some_events

pytestmark = pytest.mark.postgres

OURS = Stream.of("ours", "session-1")
THEIRS = Stream.of("theirs", "session-1")
TABLES = (
    "namespaces",
    "streams",
    "events",
    "append_requests",
    "snapshots",
    "session_index",
    "session_runs",
    "projection_checkpoints",
    "search_entries",
    "search_forks",
    "search_fork_changes",
    "search_terms",
    "search_embeddings",
    "served_views",
    "jobs",
    "records",
    "record_accesses",
    "record_embeddings",
    "events_readable",
)


@pytest.fixture(scope="module")
def database(server: Server, quiet_database: str) -> str:
    """A database in which two namespaces have a row in every table."""

    async def fill() -> None:
        store = await PostgresStore.open(server.target(quiet_database))
        for stream in (OURS, THEIRS):
            await store.events.append(a_request(a_write(stream, *some_events(3)), key="k"))
            await store.snapshots.save(stream, Snapshot("session", 1, 3, bytes(32), bytes(32), b"state"))
            await store.projections.begin_build(stream.namespace_id, "session_index", 1, bytes(32))
            row = msgspec.structs.replace(a_row(stream), new_runs=(("r", 1),))
            await store.session_index.save(stream.namespace_id, 1, [row], after=0, position=3)
            await index_a_word(store, stream)
            await store.served_views.save(stream, ServedView(3, 2, ((1, 1),)), now=datetime.now(UTC))  # noqa: TID251 - any
            await keep_a_job(store, stream)
            await remember(store, stream)
        await store.close()

    asyncio.run(fill())
    return quiet_database


async def keep_a_job(store: PostgresStore, stream: Stream) -> None:
    """Let a session have something to do in the background."""
    await store.projections.begin_build(stream.namespace_id, JOBS, 1, bytes(32))
    job = DueJob("promote", "5", datetime.fromisoformat("2026-01-01T00:00:00+00:00"))
    assert await store.jobs.save(stream.namespace_id, 1, [SessionJobs(stream, (job,))], after=0, position=3) == 3


async def index_a_word(store: PostgresStore, stream: Stream) -> None:
    """Put a text, its embedding where the server keeps them, and a fork without it into the search of a namespace."""
    child = Stream.of(stream.namespace, "fork")
    await fork(store, stream, 1, child, an_event())
    await store.projections.begin_build(stream.namespace_id, SEARCH, 1, bytes(32))
    piece = Piece(version=1, kind="entry", number=0, position=1, first_character=0, text="word", item_id="e")
    changes = [
        StreamChange(stream.stream_id, 1, AddPieces((piece,))),
        StreamChange(child.stream_id, 2, Inherit(4)),
        StreamChange(child.stream_id, 3, Withdraw(1)),
    ]
    await store.search.apply(stream.namespace_id, 1, changes, after=0, position=3, language="simple")
    if await store.search.stores_embeddings():
        (hit,) = await store.search.to_embed(stream.namespace_id, 1, "model", limit=9)
        await store.search.save_embeddings(stream.namespace_id, "model", [(hit, [1.0, 0.0])])


async def remember(store: PostgresStore, stream: Stream) -> None:
    """Put a record that was read, and its embedding where the server keeps them, into a namespace."""
    namespace, build = stream.namespace_id, {stream.namespace_id: 1}
    await store.projections.begin_build(namespace, RECORDS_PROJECTION, 1, bytes(32))
    fields = MemoryFields(text="word")
    record = Record(record_id="r", fields=fields, version=1, persisted_us=0, updated_us=0)
    await store.records.save(namespace, 1, [(stream.stream_id, "", record)], after=0, position=3, language="simple")
    await store.records.touch([(namespace, stream.stream_id, "r")], now=record.created_at, pause_s=1)
    if await store.records.stores_embeddings():
        (stored,) = await store.records.to_embed(build, "model", limit=9)
        await store.records.save_embeddings("model", [(stored, [1.0, 0.0])])


@pytest.fixture(autouse=True)
def _the_table_is_there(request: pytest.FixtureRequest, server: Server) -> None:
    """Only a server with pgvector keeps embeddings."""
    if getattr(request.node, "callspec", None) and request.node.callspec.params.get("table") in {
        "search_embeddings",
        "record_embeddings",
    }:
        with server.superuser(request.getfixturevalue("database")) as mighty:
            if mighty.execute("SELECT to_regclass('ledger.search_embeddings')").fetchone() == (None,):
                pytest.skip("this server has no pgvector")


@pytest.fixture
def login(server: Server, database: str, app_login: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A plain login's connection; plain is asserted, for row security does not hold superusers."""
    with psycopg.connect(server.url_of(app_login, database)) as connection:
        row = connection.execute(
            "SELECT rolsuper OR rolbypassrls OR pg_has_role(current_user, 'ledger_owner', 'MEMBER')"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == (False,)
        yield connection
        connection.rollback()


def set_namespaces(connection: psycopg.Connection[tuple[object, ...]], *streams: Stream) -> None:
    ids = ",".join(str(stream.namespace_id) for stream in streams)
    connection.execute("SELECT set_config('ledger.namespace', %s, true)", (ids,))


def rows(connection: psycopg.Connection[tuple[object, ...]], table: str, where: str = "true") -> int:
    found = connection.execute(f"SELECT count(*) FROM ledger.{table} WHERE {where}").fetchone()
    assert found is not None
    return int(str(found[0]))


@pytest.mark.parametrize("table", TABLES)
def test_a_query_without_its_filter_sees_one_namespace(
    table: str, server: Server, database: str, login: psycopg.Connection[tuple[object, ...]]
) -> None:
    set_namespaces(login, OURS)
    ours = rows(login, table)
    assert ours > 0
    if table != "events_readable":
        assert rows(login, table, f"namespace_id = '{THEIRS.namespace_id}'") == 0
    with server.superuser(database) as mighty:
        assert rows(mighty, table) == 2 * ours, "control: a superuser sees both"


@pytest.mark.parametrize("table", TABLES)
def test_without_a_namespace_nothing_is_seen(table: str, login: psycopg.Connection[tuple[object, ...]]) -> None:
    assert rows(login, table) == 0
    set_namespaces(login, OURS)
    login.commit()
    assert rows(login, table) == 0, "the setting ends with its transaction"


def test_a_list_of_namespaces_shows_exactly_those(login: psycopg.Connection[tuple[object, ...]]) -> None:
    set_namespaces(login, OURS, THEIRS)
    assert rows(login, "events") == 8
    set_namespaces(login, Stream.of("nobody's", "session-1"))
    assert rows(login, "events") == 0


def test_the_ids_of_all_namespaces_are_listed_and_nothing_else_of_them(
    login: psycopg.Connection[tuple[object, ...]],
) -> None:
    found = login.execute("SELECT ledger.namespace_ids()").fetchall()
    assert [row[0] for row in found] == sorted([OURS.namespace_id, THEIRS.namespace_id])
    assert rows(login, "namespaces") == 0


async def test_the_store_lists_namespace_ids(server: Server, database: str, app_login: str) -> None:
    store = await PostgresStore.open(Target(server.url_of(app_login, database)))
    assert sorted(await store.events.namespace_ids()) == sorted([OURS.namespace_id, THEIRS.namespace_id])
    await store.close()


WRITABLE = (
    "snapshots",
    "session_index",
    "session_runs",
    "projection_checkpoints",
    "search_entries",
    "search_forks",
    "search_fork_changes",
    "search_terms",
    "search_embeddings",
    "served_views",
    "jobs",
)


@pytest.mark.parametrize("table", WRITABLE)
def test_what_the_application_may_write_it_writes_in_its_namespace_only(
    table: str, server: Server, database: str, login: psycopg.Connection[tuple[object, ...]]
) -> None:
    set_namespaces(login, OURS)
    ours = rows(login, table)
    assert login.execute(f"UPDATE ledger.{table} SET namespace_id = namespace_id").rowcount == ours > 0
    assert login.execute(f"DELETE FROM ledger.{table}").rowcount == ours
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        smuggle(login, table)
    login.rollback()
    with server.superuser(database) as mighty:
        assert rows(mighty, table) == 2 * ours


def smuggle(connection: psycopg.Connection[tuple[object, ...]], table: str) -> None:
    """Write a row of another namespace."""
    connection.rollback()
    set_namespaces(connection, OURS)
    connection.execute(f"CREATE TEMPORARY TABLE copied ON COMMIT DROP AS SELECT * FROM ledger.{table}")
    connection.execute("UPDATE copied SET namespace_id = %s", (THEIRS.namespace_id,))
    connection.execute(f"INSERT INTO ledger.{table} SELECT * FROM copied ON CONFLICT DO NOTHING")


def test_requests_of_another_namespace_are_not_pruned(
    server: Server, database: str, login: psycopg.Connection[tuple[object, ...]]
) -> None:
    with server.superuser(database) as mighty, mighty.transaction(force_rollback=True):
        mighty.execute("UPDATE ledger.append_requests SET recorded_at = now() - interval '30 days'")
        mighty.execute("SET LOCAL ROLE ledger_app")
        call = "SELECT ledger.prune_requests(%s, interval '7 days')"
        assert mighty.execute(call, (OURS.namespace_id,)).fetchone() == (1,)
        mighty.execute("RESET ROLE")
        assert mighty.execute("SELECT namespace_id FROM ledger.append_requests").fetchall() == [(THEIRS.namespace_id,)]


@pytest.mark.parametrize("interval", ["1 hour", "-12 months +361 days", None])
def test_requests_of_the_last_day_are_not_pruned_however_the_time_is_written(
    login: psycopg.Connection[tuple[object, ...]], interval: str | None
) -> None:
    """trust K-7: 361 days less a year are a day, as intervals are compared, and before now as they are added."""
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="24 hours"):
        login.execute("SELECT ledger.prune_requests(%s, %s::interval)", (OURS.namespace_id, interval))


def test_a_namespace_cannot_be_created_under_the_id_of_another(login: psycopg.Connection[tuple[object, ...]]) -> None:
    """trust K-7."""
    set_namespaces(login, THEIRS)
    with pytest.raises(psycopg.errors.DatabaseError) as refused:
        login.execute("SELECT ledger.create_namespace(%s, 'mine')", (namespace_id("theirs"),))
    assert refused.value.sqlstate == "LG006"


def test_every_table_with_a_namespace_is_covered_here(server: Server, database: str) -> None:
    """A new table joins the list above, or this fails."""
    with server.superuser(database) as mighty:
        found = mighty.execute(
            "SELECT table_name::text FROM information_schema.columns"
            " WHERE table_schema = 'ledger' AND column_name = 'namespace_id'"
        ).fetchall()
    assert {str(row[0]) for row in found} <= set(TABLES)
