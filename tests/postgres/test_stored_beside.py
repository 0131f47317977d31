"""What is stored beside the log is bounded or pruned."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from ledger.events.ids import Stream, namespace_id
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore, served_views, tables
from projections.working_memory import ServedView

pytestmark = pytest.mark.postgres

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SCHEMA = Path(__file__).parents[2] / "migrations" / "schema.sql"
A_DAY = timedelta(days=1)

#: What bounds the rows of each table. A new table needs a line, and a test of it.
BOUNDS = {
    "alembic_version": "one row",
    "namespaces": "one for each namespace",
    "streams": "one for each session",
    "events": "the log",
    "append_requests": "pruned after days; see `prune_requests`",
    "snapshots": "of each 200 versions of a session one",
    "api_tokens": "made by operators",
    "session_index": "one for each session, and build",
    "session_runs": "one for each session and run of an agent that wrote in it, and build",
    "projection_checkpoints": "one for each build; replaced builds are removed",
    "search_entries": "one for each piece of text, and build; of a fork only those it added",
    "search_forks": "one for each fork and ancestor, and build",
    "search_fork_changes": "one for each event of a fork that removes or erases what it inherited, and build",
    "search_terms": "one for each word of a piece",
    "search_embeddings": "one for each piece, and model",
    "served_views": "pruned after a week",
    "jobs": "one of each kind for each session, and build",
    "records": "one for each record, and build",
    "record_accesses": "one for each record",
    "record_embeddings": "one for each record, and model",
}


def test_every_table_has_a_bound() -> None:
    created = set(re.findall(r"CREATE TABLE ledger\.(\w+)", SCHEMA.read_text()))
    assert set(BOUNDS) == created


async def rows(store: PostgresStore, namespace: str, query: sa.Select[tuple[str, int]]) -> Sequence[tuple[str, int]]:
    async with store._pool.transaction(namespace_id(namespace)) as connection:
        return [(row[0], row[1]) for row in await connection.execute(query)]


async def test_old_views_of_sessions_that_nobody_opens_again_are_pruned(
    postgres_store: PostgresStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_views, "_PRUNED_AT_ONCE", 2)
    table = tables.served_views.c
    counted = sa.select(sa.func.min(table.view), sa.func.count()).where(table.namespace_id == namespace_id(namespace))

    async def served(number: int, now: datetime) -> int:
        view = ServedView(version=number + 1, first=1, omitted=((1, number + 1),))
        await postgres_store.served_views.save(Stream.of(namespace, f"s{number}"), view, now=now)
        return (await rows(postgres_store, namespace, counted))[0][1]

    assert [await served(number, NOW) for number in range(5)] == [1, 2, 3, 4, 5]
    assert await served(5, NOW + 6 * A_DAY) == 6
    assert [await served(number, NOW + 8 * A_DAY) for number in range(6, 9)] == [5, 4, 4]


async def test_words_count_only_pieces_that_are_there(postgres_store: PostgresStore, namespace: str) -> None:
    entries, terms = tables.search_entries.c, tables.search_terms.c
    word = sa.func.unnest(entries.vector).table_valued("lexeme", "positions", "weights", joins_implicitly=True)
    mine = sa.and_(entries.namespace_id == namespace_id(namespace), entries.shown)
    indexed = (
        sa.select(word.c.lexeme, sa.func.count())
        .select_from(tables.search_entries, word)
        .where(mine)
        .group_by(word.c.lexeme)
    )
    every = sa.select(sa.literal(""), sa.func.count()).where(mine).having(sa.func.count() > 0)
    counted = sa.select(terms.lexeme, terms.pieces).where(terms.namespace_id == namespace_id(namespace))
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as ledger:
        added = [await ledger.add_user_message("s", f"apple pie {number}") for number in range(6)]
        await ledger.add_user_message("t", "apple tart")
        assert len(await ledger.search("apple")) > 0
        for change in (
            ledger.remove_entry("s", added[0].entry_id),
            ledger.edit_entry("s", added[1].entry_id, "plum"),
            ledger.fork("s", "early", version=3),
            ledger.fork("s", "f"),
            ledger.remove_entry("f", added[2].entry_id),
            ledger.clear_session("s"),
            ledger.fork("s", "late", version=7),
            ledger.clear_session("t"),
        ):
            await change
            await ledger.search("apple")
            there = [*await rows(postgres_store, namespace, indexed), *await rows(postgres_store, namespace, every)]
            assert sorted(await rows(postgres_store, namespace, counted)) == sorted(there)
