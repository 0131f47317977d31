"""A process that ends between request and outcome. Source: R-CMP-10; trust M-2, P-14, F-12."""

import asyncio
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, hang, says
from tests.support.model_scene import SMALL, TRIGGER, completed, messages, outcomes, said, talk
from tests.support.patience import within

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]


async def killed_in_the_middle(server: Server, database: str, namespace: str, endpoint: Endpoint) -> None:
    """Let another process request a compaction, and kill it while its model hangs."""
    endpoint.answers(hang)
    arguments = ["-m", "tests.support.summarizing_process", server.database(database), namespace, endpoint.url]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)
    try:
        assert await asyncio.to_thread(endpoint.arrived.wait, 30)
    finally:
        process.send_signal(signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL


@pytest.mark.postgres
async def test_what_a_killed_process_left_is_abandoned_after_its_lease_and_done_once(
    server: Server,
    shared_database: str,
    postgres_store: PostgresStore,
    namespace: str,
    endpoint: Endpoint,
    model: OpenAISummarizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await killed_in_the_middle(server, shared_database, namespace, endpoint)
    endpoint.answers(says("The only summary."))

    async with MemoryLedger.open(namespace=namespace, store=postgres_store, summarizer=model) as patient:
        assert await outcomes(patient) == ["requested"]
        assert await said(patient) == messages(1, TRIGGER)
        await talk(patient, 1, first=TRIGGER + 1)
        await patient.settle()
        assert await outcomes(patient) == ["requested"], "the lease is not over"

    monkeypatch.setenv("MEMORY_LEDGER_COMPACTION_LEASE_S", "0.001")
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, summarizer=model) as successor:
        await talk(successor, 1, first=TRIGGER + 2)
        await successor.settle()
        assert await outcomes(successor) == ["requested", "failed abandoned", "requested", "completed"]
        created = await completed(successor)
        assert created.text == "The only summary."
        assert await said(successor) == messages(TRIGGER + 2, TRIGGER + 2)
        stats = await successor.get_stats("s")
        assert (stats.total_entries, stats.summaries) == (TRIGGER + 2, 1)
        assert (await successor.verify()).ok
    assert len(endpoint.asked) == 2


async def test_a_manual_compaction_abandons_the_unfinished_request(store: Store, namespace: str) -> None:
    dead = ledger_over(store, namespace=namespace, config=SMALL)
    dead.set_summarizer(None, never)
    await talk(dead)
    successor = ledger_over(store, namespace=namespace, compaction_lease_s=0.0)
    await asyncio.sleep(0.01)
    await successor.compress("s")
    assert await outcomes(successor) == ["requested", "failed abandoned", "requested", "completed"]
    await dead._handle.services.compactor.close(grace_s=0)
    assert await outcomes(successor) == ["requested", "failed abandoned", "requested", "completed"]
    await successor.close()


async def never(prompt: str) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.usefixtures("hasty")
async def test_closing_a_ledger_with_a_hanging_call_records_that_it_was_given_up(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    endpoint.answers(hang)
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=model) as closing:
        await talk(closing)
    async with MemoryLedger.open(namespace=namespace, store=store) as after:
        assert await outcomes(after) == ["requested", "failed abandoned"]
        assert await said(after) == messages(1, TRIGGER)


@pytest.mark.usefixtures("hasty")
def test_a_callback_that_never_ends_does_not_keep_the_program_from_ending() -> None:
    stuck = threading.Event()

    async def program() -> list[str]:
        store = InMemoryStore()
        async with MemoryLedger.open(store=store, config=SMALL, summarizer=lambda prompt: stuck.wait()) as closing:
            await talk(closing)
        return await outcomes(ledger_over(store))

    started = time.monotonic()
    assert asyncio.run(program()) == ["requested", "failed abandoned"]
    assert time.monotonic() - started < within(5)
    stuck.set()


async def test_closing_a_ledger_waits_a_little_for_a_slow_call() -> None:
    async def slow(prompt: str) -> str:
        await asyncio.sleep(0.1)
        return "A slow summary."

    store = InMemoryStore()
    async with MemoryLedger.open(store=store, config=SMALL, summarizer=slow) as closing:
        await talk(closing)
    async with MemoryLedger.open(store=store) as after:
        assert (await completed(after)).text == "A slow summary."


async def test_a_caller_that_gives_up_a_manual_compaction_gives_it_up_on_record() -> None:
    ledger = ledger_over(InMemoryStore(), config=SMALL)
    ledger.set_summarizer(None, never)
    await talk(ledger, 4)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ledger.compress("s"), 0.05)
    assert await outcomes(ledger) == ["requested", "failed abandoned"]
    assert await said(ledger) == messages(1, 4)
