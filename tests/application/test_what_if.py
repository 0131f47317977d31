"""What-if, diff and adopt on whole ledgers. Source: R-WIF-1 … R-WIF-11."""

import inspect
import itertools
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ledger.errors import EntryNotFound, InvalidInput, SummaryMissing, VersionNotFound
from ledger.llm.prices import load_prices
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from ledger.sync import SyncMemoryLedger
from projections.memory_config import config as memory_config
from projections.stats import Spending
from tests.application.conftest import SMALL, talk
from tests.support.databases import Server
from tests.support.driver import Scripted

NONE = {"profile": "none"}
SMALLER = {**SMALL, "maxEntries": 3, "recentWindow": 1}


async def slowly(ledger: MemoryLedger, count: int) -> None:
    """Add messages one by one, each after what the one before set off has ended (R-WIF-10)."""
    for number in range(1, count + 1):
        await talk(ledger, 1, first=number)


def contents_of(database: psycopg.Connection) -> dict[str, list[bytes]]:
    """Return every row of every table of ours, as PostgreSQL writes it."""
    tables = [row[0] for row in database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'ledger'")]
    found = {}
    for table in sorted(tables):
        rows = database.execute(sql.SQL("SELECT t::text FROM ledger.{} t ORDER BY 1").format(sql.Identifier(table)))
        found[table] = [row[0].encode() for row in rows]
    return found


@pytest.mark.postgres
async def test_a_what_if_leaves_the_database_as_it_was_byte_for_byte(server: Server, fresh_database: str) -> None:
    """R-WIF-3, LAW-5."""
    store = await PostgresStore.open(server.target(fresh_database))
    async with MemoryLedger.open(namespace="n", store=store, config=SMALL, summarizer=Scripted("short")) as ledger:
        await talk(ledger, 40)
        await ledger.get_state("s")
        with server.superuser(fresh_database) as database:
            before = contents_of(database)
            assert len(before["events"]) > 40
            for config in (
                NONE,
                SMALLER,
                {"profile": "rolling_interactions", "size": 2},
                {"window": {"type": "recall"}},
            ):
                found = await ledger.what_if("s", config, on_miss="estimate")
                assert found.version == len(before["events"])
            await ledger.what_if("s", SMALLER, on_miss="call", version=30)
            await ledger.diff("s", 10, SMALLER, on_miss="estimate")
            assert contents_of(database) == before
            await ledger.update_config("s", NONE, replace=True, existing=True)
            assert contents_of(database) != before
    await store.close()


async def test_the_recorded_answers_are_used_and_the_rest_raised_called_or_estimated(namespace: str) -> None:
    """R-WIF-4, R-WIF-5."""
    model = Scripted("short")
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=SMALL, summarizer=model) as ledger:
        await slowly(ledger, 12)
        asked = len(model.asked)
        same = await ledger.what_if("s", SMALL)
        assert same.difference.empty
        assert (same.answers.recorded, same.answers.called) == (asked, 0)
        assert len(model.asked) == asked, "the record answers"
        with pytest.raises(SummaryMissing):
            await ledger.what_if("s", SMALLER)
        estimated = await ledger.what_if("s", SMALLER, on_miss="estimate")
        assert estimated.estimated
        assert len(model.asked) == asked
        called = await ledger.what_if("s", SMALLER, on_miss="call")
        assert (called.answers.called, called.estimated) == (len(model.asked) - asked, False)
        assert {summary.text for summary in called.window.summaries} == {"short"}
        again = await ledger.what_if("s", SMALLER)
        assert again.answers.called == 0, "what was called for once is remembered"
        assert again.state == called.state


async def test_a_model_that_is_not_there_cannot_be_called(namespace: str) -> None:
    store = InMemoryStore()
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=Scripted("x")) as ledger:
        await slowly(ledger, 8)
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL) as ledger:
        assert (await ledger.what_if("s", SMALL)).difference.empty, "the record still has the answers"
        with pytest.raises(InvalidInput) as refused:
            await ledger.what_if("s", SMALLER, on_miss="call")
        assert refused.value.code == "no_summarizer"
        heuristic = await ledger.what_if("s", SMALLER, summarizer=lambda prompt: "called", on_miss="call")
        assert {item.text for item in heuristic.completed} == {"called"}


async def test_without_an_entry_and_up_to_a_version(anywhere: MemoryLedger) -> None:
    """R-WIF-7."""
    await talk(anywhere, 6)
    (second, *_) = [entry for entry in await anywhere.get_active_entries("s") if entry.content == "message 2"]
    found = await anywhere.what_if("s", NONE, without=[second.entry_id], version=5)
    assert [entry.content for entry in found.state.window.entries] == ["message 1", "message 3", "message 4"]
    assert [entry.content for entry in found.difference.before.only_entries] == ["message 2"]
    with pytest.raises(EntryNotFound):
        await anywhere.what_if("s", NONE, without=["nobody"])
    with pytest.raises(VersionNotFound):
        await anywhere.what_if("s", NONE, version=999)


async def test_a_what_if_takes_a_moment_and_the_sessions_own_config(small: MemoryLedger) -> None:
    """Without a config, the session's own is meant."""
    await talk(small, 8)
    state = await small.get_state("s")
    now = await small.what_if("s", at=datetime.now(UTC))  # noqa: TID251 - the test's own clock
    assert (now.version, now.config) == (state.version, state.config)
    assert now.difference.empty
    then = await small.what_if("s", version=5)
    assert then.window.entries == (await small.get_context("s", version=5)).window.entries
    with pytest.raises(InvalidInput):
        await small.what_if("s", version=5, at="2026-01-31T09:00:00Z")


async def test_a_diff_is_between_any_two_of_version_time_and_config(small: MemoryLedger) -> None:
    """R-WIF-8."""
    await talk(small, 8)
    versions = await small.diff("s", 3, 5)
    assert len(versions.after.only_entries) == 2
    now = await small.diff("s", 5, datetime.now(UTC))  # noqa: TID251 - the test's own clock
    assert now.after.version == (await small.get_state("s")).version
    other = await small.diff("s", 7, NONE)
    assert (other.before.what_if, other.after.what_if, other.after.version) == (False, True, other.before.version)
    both = await small.diff("s", NONE, {"profile": "rolling_interactions", "size": 2})
    assert both.before.what_if
    assert both.config_changed
    assert len(both.before.only_entries) > 0


async def test_the_cost_is_of_the_models_asked(namespace: str, tmp_path: Path) -> None:
    """The price table is data, and can be another."""
    config = memory_config.load({**SMALL, "summarizer": {"model": "gpt-4o-mini"}})
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=NONE) as ledger:
        await talk(ledger, 9)
        model = Scripted("x")
        found = await ledger.what_if("s", config, summarizer=model, on_miss="estimate")
        assert found.spent.model_calls > 0
        price = load_prices().models["gpt-4o-mini"]
        expected = (price.input * found.spent.input_tokens + price.output * found.spent.output_tokens) / 1_000_000
        assert found.spent.cost_usd == expected > 0
        assert (await ledger.what_if("s", SMALL, summarizer=model, on_miss="estimate")).spent.cost_usd is None
        assert (await ledger.what_if("s", NONE)).spent == Spending()
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"as_of": "2030-01-01", "models": {"mine": {"input": "1", "output": "2.5"}}}))
    assert load_prices(file).cost("mine", 1_000_000, 2_000_000) == Decimal(6)
    assert load_prices(file).cost("gpt-4o-mini", 1, 1) is None
    assert load_prices().cost("gpt-4o-2024-08-06", 1_000_000, 0) == load_prices().models["gpt-4o"].input
    file.write_text("[]")
    with pytest.raises(InvalidInput):
        load_prices.__wrapped__(file)


async def test_adopting_is_one_event_with_the_whole_config(anywhere: MemoryLedger) -> None:
    """R-WIF-11, LAW-24."""
    await talk(anywhere, 3)
    before = await anywhere.get_active_entries("s")
    adopted = await anywhere.update_config(
        "s", {"profile": "rolling_interactions", "size": 2}, replace=True, existing=True
    )
    (last,) = (await anywhere.get_events("s"))[-1:]
    assert last.type == "config.changed"
    assert memory_config.load(last.payload.config) == adopted.config == (await anywhere.get_state("s")).config
    assert await anywhere.get_active_entries("s") == before
    events = len(await anywhere.get_events("s"))
    await anywhere.update_config("s", {"profile": "rolling_interactions", "size": 2}, replace=True, existing=True)
    assert len(await anywhere.get_events("s")) == events, "no change, no event"


def test_the_sync_twin_has_the_same_signatures() -> None:
    for name in ("what_if", "diff", "update_config"):
        ours, theirs = (inspect.signature(getattr(cls, name)) for cls in (MemoryLedger, SyncMemoryLedger))
        assert ours == theirs, name


@pytest.mark.parametrize("on_failure", ["fail", "heuristic"])
async def test_a_history_in_which_the_model_failed_replays_as_it_was(namespace: str, on_failure: str) -> None:
    """R-WIF-4: that a question got no answer is on record too; nobody is asked again."""
    config = {**SMALL, "on_failure": on_failure}
    calls = itertools.count()

    def now_and_then(prompt: str) -> str:
        if next(calls) % 2 == 0:
            raise RuntimeError("the model is down")
        return "short"

    async with MemoryLedger.open(
        namespace=namespace, store=InMemoryStore(), config=config, summarizer=now_and_then
    ) as ledger:
        await slowly(ledger, 14)
        completed = [event.payload for event in await ledger.get_events("s", type="compaction.completed")]
        assert {item.method for item in completed} == (
            {"callback"} if on_failure == "fail" else {"callback", "heuristic"}
        )
        asked = next(calls)
        found = await ledger.what_if("s")
        assert next(calls) == asked + 1, "nobody was asked"
        assert found.difference.empty
        assert [item.text for item in found.completed] == [item.text for item in completed]
        assert found.failed == len(await ledger.get_events("s", type="compaction.failed"))


async def test_entries_are_left_out_by_version_too(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 3)
    first, second, *_ = await anywhere.get_active_entries("s")
    by_id, by_version = [
        await anywhere.what_if("s", NONE, without=[name]) for name in (second.entry_id, second.version)
    ]
    assert by_id.window == by_version.window
    assert first in by_id.window.entries
    assert second not in by_id.window.entries


async def test_an_ended_session_adopts_nothing(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 1)
    await anywhere.clear_session("s", end=True)
    with pytest.raises(InvalidInput, match="has ended"):
        await anywhere.update_config("s", NONE, replace=True, existing=True)
    assert (await anywhere.get_events("s"))[-1].type == "session.cleared"
