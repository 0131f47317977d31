"""A namespace with every kind of event: sessions in two lives, forks of forks, records, views, kept values."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from ledger.application.summarizing.summary_view_use import create_view, delete_view, views_stream, write_views
from ledger.events import (
    MemoryAdded,
    MemoryEdited,
    MemoryFields,
    MemoryPromoted,
    MemoryRemoved,
    SummaryViewDefinition,
    SummaryViewPartitionSummarized,
    SummaryViewRunCompleted,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
)
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.event_encoding import append_request
from ledger.stores.in_memory import InMemoryStore

CONFIG = {"compactions": [{"type": "token_threshold", "recent_window": 2, "min_entries_to_compress": 2}]}


def ledger_for(store: Store, namespace: str) -> Any:
    return MemoryLedger.open(namespace=namespace, store=store, config=CONFIG, summarizer=lambda prompt: "In short.")


@asynccontextmanager
async def a_rich_namespace() -> AsyncIterator[MemoryLedger]:
    """Yield a ledger over a store in memory, with 4 sessions and 3 forks."""
    store = InMemoryStore()
    async with ledger_for(store, "a") as ledger:
        await _talk(ledger)
        await _fork(ledger)
        await _remember(ledger)
        await _work_on_memories(store, ledger)
        await _summarize_views(ledger)
        yield ledger


async def _talk(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "What is in the log?")
    await ledger.add_tool_call("s", "search", {"q": "log"}, tool_call_id="c1")
    await ledger.add_tool_result("s", "search", "events", tool_call_id="c1")
    for number in range(6):
        await ledger.add_user_message("s", f"message {number} " + "word " * 20)
    entries = await ledger.get_active_entries("s")
    await ledger.edit_entry("s", entries[3].entry_id, "edited")
    await ledger.compress("s", force=True)
    await ledger.get_context("s", record=True)
    await ledger.add_user_message("s", "hello", user_id="mia")
    await ledger.keep("s", [{"space": "notes", "key": "k", "value": {"a": 1}}])
    await ledger.keep("s", [{"space": "notes", "key": "k", "removed": True}])
    await ledger.set_data("s", {"k": [1]})
    await ledger.set_expiry("s", 10**6, user_id="mia")


async def _fork(ledger: MemoryLedger) -> None:
    await ledger.fork("s", "f", version=7)
    await ledger.add_assistant_message("f", "in the fork")
    inherited = (await ledger.get_active_entries("f"))[1]
    await ledger.edit_entry("f", inherited.entry_id, "edited in the fork")
    await ledger.remove_entry("f", (await ledger.get_active_entries("f"))[2].entry_id)
    await ledger.fork("f", "g", version=9)
    await ledger.compress("g", force=True)
    await ledger.fork("f", "h", version=3)
    await ledger.clear_session("h", end=True)
    await ledger.add_user_message("h", "a new life")
    await ledger.update_config("s", {"profile": "rolling"}, rebuild=True)
    await ledger.settle()
    await ledger.restore("s", 5)
    await ledger.settle()


async def _remember(ledger: MemoryLedger) -> None:
    records = ledger.long_term
    await records.create([{"id": f"r{number}", "text": f"Mia likes {number}", "user_id": "mia"} for number in range(4)])
    await records.patch("r1", {"text": "Mia likes ferns"})
    await records.delete(["r2"])
    await records.restore("r1", 2)
    await records.create([{"id": "o1", "text": "of nobody"}, {"id": "o2", "text": "of nobody"}], deduplicate=False)
    await records.compact()


async def _work_on_memories(store: Store, ledger: MemoryLedger) -> None:
    stream, clock = Stream.of("a", "s", "mia"), SystemClock()
    version = (await ledger.get_state("s", user_id="mia")).version

    def fields(text: str) -> MemoryFields:
        return MemoryFields(text=text, memory_type="semantic")

    write_id, now = clock.ulid(), datetime(2026, 5, 1, tzinfo=UTC)
    events = [
        MemoryAdded(write_id=write_id, memory_id="m1", fields=fields("one")),
        MemoryAdded(write_id=write_id, memory_id="m2", fields=fields("two"), persisted_at=now),
        MemoryEdited(write_id=write_id, memory_id="m1", memory_version=version + 1, fields=fields("three")),
        MemoryPromoted(write_id=write_id, memory_id="m1", memory_version=version + 1, record_id="r9"),
        MemoryRemoved(write_id=write_id, memory_id="m2", memory_version=version + 2),
    ]
    await store.events.append(append_request(stream, events, expected_version=version, clock=clock, actor="agent"))


async def _summarize_views(ledger: MemoryLedger) -> None:
    handle = ledger._handle
    view_id = await create_view(handle, SummaryViewDefinition(name="by user", group_by=("user_id",)))
    gone = await create_view(handle, SummaryViewDefinition(name="gone", group_by=("user_id",)))
    common = {"write_id": SystemClock().ulid(), "view_id": view_id}
    done = SummaryViewPartitionSummarized(
        **common, group={"user_id": "mia"}, summary="Mia likes ferns.", memory_count=3, request_hash="x", task_id="t1"
    )
    for events in (
        [SummaryViewRunRequested(**common, task_id="t1"), SummaryViewRunRequested(**common, task_id="t2", force=True)],
        [SummaryViewRunStarted(**common, task_id="t1"), done],
        [SummaryViewRunCompleted(**common, task_id="t1", partitions=1)],
        [SummaryViewRunFailed(**common, task_id="t2", error="the model is down")],
    ):
        await write_views(handle, lambda state, events=events: events)
    await delete_view(handle, gone)
    assert (await ledger._handle.services.summary_views.current(views_stream("a"))).views.keys() == {view_id}
