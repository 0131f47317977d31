"""A hanging model call blocks nothing. Source: R-CMP-4, R-CMP-5, R-CMP-7; trust P-14, P-15, M-1."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator

import pytest

from ledger.errors import CompactionInProgress
from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, hang, says
from tests.support.model_scene import SMALL, TRIGGER, completed, messages, outcomes, said, talk


@pytest.fixture
async def hanging(on_store: MemoryLedger, endpoint: Endpoint) -> AsyncIterator[MemoryLedger]:
    """A ledger on each store with a compaction of entries 1 to 5 in flight."""
    endpoint.answers(hang)
    await talk(on_store)
    assert await asyncio.to_thread(endpoint.arrived.wait, 10)
    yield on_store
    endpoint.released.set()


async def test_the_request_is_in_the_log_before_the_answer_and_nothing_has_left_the_window(
    hanging: MemoryLedger,
) -> None:
    assert await outcomes(hanging) == ["requested"]
    assert await said(hanging) == messages(1, TRIGGER)
    assert (await hanging.get_stats("s")).compactions_in_flight == 1


async def test_entries_added_meanwhile_are_not_part_of_it(hanging: MemoryLedger, endpoint: Endpoint) -> None:
    """V-CMP-1."""
    await talk(hanging, 4, first=TRIGGER + 1)
    assert (await hanging.get_stats("s")).total_entries == TRIGGER + 4
    endpoint.released.set()
    await hanging.settle()
    assert await outcomes(hanging) == ["requested", "completed"]
    assert (await completed(hanging)).covered == ((2, 6),)
    assert await said(hanging) == messages(TRIGGER, TRIGGER + 4)


async def test_a_second_compaction_of_its_key_is_not_planned_and_refused_if_asked_for(
    hanging: MemoryLedger, endpoint: Endpoint
) -> None:
    await talk(hanging, 8, first=TRIGGER + 1)
    with pytest.raises(CompactionInProgress):
        await hanging.compress("s")
    assert len(endpoint.asked) == 1
    assert await outcomes(hanging) == ["requested"]


async def test_a_clear_meanwhile_discards_the_result(hanging: MemoryLedger, endpoint: Endpoint) -> None:
    """V-CMP-2."""
    await hanging.clear_session("s")
    endpoint.released.set()
    await hanging.settle()
    events = [event.payload for event in await hanging.get_events("s")]
    assert [event.type for event in events[-2:]] == ["session.cleared", "compaction.discarded"]
    assert events[-1].reason == "cleared"
    assert await hanging.get_context_for_llm("s") == ""
    assert (await hanging.get_stats("s")).total_tokens == 0


@pytest.mark.parametrize("change", ["edit", "remove"])
async def test_a_change_of_a_covered_entry_meanwhile_discards_the_result(
    hanging: MemoryLedger, endpoint: Endpoint, change: str
) -> None:
    """V-CMP-2."""
    third = (await hanging.get_active_entries("s"))[2]
    if change == "edit":
        await hanging.edit_entry("s", third.entry_id, "said otherwise")
    else:
        await hanging.remove_entry("s", third.entry_id)
    endpoint.released.set()
    await hanging.settle()
    if change == "remove":  # too few are left for another
        assert await outcomes(hanging) == ["requested", "discarded changed"]
        assert (await said(hanging))[:2] == messages(1, 2)
    else:  # R-CMP-8: it is still due, and asks about what is said now
        assert await outcomes(hanging) == ["requested", "discarded changed", "requested", "completed"]
        assert "said otherwise" in str(endpoint.asked[-1])
        assert await said(hanging) == messages(TRIGGER, TRIGGER)


async def test_a_change_of_another_entry_does_no_harm(hanging: MemoryLedger, endpoint: Endpoint) -> None:
    newest = (await hanging.get_active_entries("s"))[-1]
    await hanging.edit_entry("s", newest.entry_id, "said otherwise")
    endpoint.released.set()
    await hanging.settle()
    assert await outcomes(hanging) == ["requested", "completed"]
    assert await said(hanging) == ["said otherwise"]


async def test_two_ledgers_complete_one_request_once(
    hanging: MemoryLedger, endpoint: Endpoint, store: Store, model: OpenAISummarizer, namespace: str
) -> None:
    """V-CMP-3: the second takes the first for dead, for its lease is over, and the first still answers."""
    other = ledger_over(store, namespace=namespace, config=SMALL, compaction_lease_s=0.0)
    other.set_summarizer(None, model)
    endpoint.answers(says("The other's summary."))
    await asyncio.sleep(0.01)
    await other.compress("s")
    endpoint.released.set()
    await hanging.settle()
    assert await outcomes(hanging) == ["requested", "failed abandoned", "requested", "completed"]
    assert (await completed(hanging)).text == "The other's summary."
    assert await said(hanging) == messages(TRIGGER, TRIGGER)
    await other.close()


@pytest.mark.postgres
async def test_no_transaction_is_open_during_a_call_and_no_connection_is_held(
    server: Server, fresh_database: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    """trust P-15; a session in a transaction is the negative control."""
    endpoint.answers(hang)
    store = await PostgresStore.open(server.target(fresh_database))
    async with MemoryLedger.open(store=store, config=SMALL, summarizer=model) as ledger:
        await talk(ledger)
        assert await asyncio.to_thread(endpoint.arrived.wait, 10)
        with server.superuser(fresh_database) as looking, server.superuser(fresh_database) as idling:
            query = (
                "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend'"
            )
            states = {state for (state,) in looking.execute(query)}
            assert states == {"idle"}
            idling.execute("BEGIN")
            idling.execute("SELECT 1")
            assert "idle in transaction" in {state for (state,) in looking.execute(query)}
        endpoint.released.set()
        await ledger.settle()
        assert await outcomes(ledger) == ["requested", "completed"]
    await store.close()


async def test_appends_are_as_quick_while_a_model_hangs(hanging: MemoryLedger, endpoint: Endpoint) -> None:
    """trust P-14; the bound is wide, for a busy machine. All entries are there, and none twice."""
    plain = await _median_append(hanging, "another")
    slowed = await _median_append(hanging, "s")
    assert slowed < 5 * plain + 0.02
    assert (await hanging.get_stats("s")).total_entries == TRIGGER + 30
    endpoint.released.set()


async def test_many_hanging_callbacks_hold_up_no_append() -> None:
    """More sync callbacks than a pool has threads."""
    ended = threading.Event()

    def stuck(prompt: str) -> str:
        ended.wait(30)
        return "A late summary."

    async with MemoryLedger.open(store=InMemoryStore(), config=SMALL, summarizer=stuck) as ledger:
        async with asyncio.timeout(10):
            for number in range(40):
                await talk(ledger, session=f"s{number}")
        ended.set()
        await ledger.settle()
        assert {(await ledger.get_stats(f"s{number}")).summaries for number in range(40)} == {1}


async def _median_append(ledger: MemoryLedger, session: str) -> float:
    took = []
    for number in range(30):
        started = time.perf_counter()
        await ledger.add_user_message(session, f"more {number}", tokens=0)
        took.append(time.perf_counter() - started)
    return sorted(took)[15]
